"""The dApp in one file of docs/api.md, at an origin of its own, against the sandbox."""

import mimetypes
from itertools import count

from playwright.sync_api import expect

from harness.network import serve
from harness.serving import ROOT
from tests.system.browser.conftest import PATIENCE_MS

PAGE = "/examples/dapp/market.html"
SERIALS = count(5000)


def clone(environ, start_response):
    """What python3 -m http.server serves in the clone."""
    path = ROOT / environ["PATH_INFO"].lstrip("/")
    if not path.is_file():
        start_response("404 Not Found", [])
        return [b""]
    start_response("200 OK", [("Content-Type", mimetypes.guess_type(path)[0])])
    return [path.read_bytes()]


def test_it_lists_buys_and_shows_events(browsers, market):
    assert len((ROOT / PAGE.lstrip("/")).read_text().splitlines()) <= 60
    serial_no, problems = next(SERIALS), []
    with serve(clone) as origin:
        page = browsers("chromium").new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: problems.append(str(error)))
        settings = f"localStorage.MARKET = '{market.url}'; localStorage.TOKEN = '{market.token}'"
        page.add_init_script(f"if (location.host) {{ {settings} }}")
        page.goto(origin + PAGE)
        page.get_by_label("Serial number").fill(str(serial_no))
        page.get_by_label("Price in HBAR").fill("251")
        page.get_by_role("button", name="List for sale").click()
        expect(page.get_by_role("status")).to_have_text("Listed")
        page.get_by_label("You").fill("0.0.2003")
        page.get_by_role("button", name=f"#{serial_no} for 251 HBAR").click()
        expect(page.get_by_role("status")).to_have_text("Bought")
        expect(page.locator("#events")).to_contain_text(f"SOLD 0.0.7007 #{serial_no} 251")
        assert page.evaluate("localStorage['market-pending']") == "[]"
        page.close()
    assert problems == []
