"""The Hedera SDK's web build, as it is, in a page of another origin: gRPC-web to the service's own port."""

import shutil

import pytest
from playwright.sync_api import expect
from werkzeug.middleware.shared_data import SharedDataMiddleware
from werkzeug.wrappers import Response

from harness.network import serve
from harness.serving import run_program, sandbox_market
from tests.system.browser.conftest import PATIENCE_MS, in_both
from tests.system.sdks import JAVASCRIPT, SECONDS, assert_sold, needs_javascript

pytestmark = needs_javascript


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The service, which any page may call; beside its watcher, for the order book to follow the ledger."""
    with sandbox_market(tmp_path_factory.mktemp("sdk"), CORS_ORIGINS="*") as service:
        yield service


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The address of the page, bundled and served by somebody else."""
    folder = tmp_path_factory.mktemp("page")
    command = ["npm", "run", "--silent", "browser", "--", f"--outdir={folder}/bundled"]
    run_program(*command, cwd=JAVASCRIPT, check=True, timeout=SECONDS)
    shutil.copy(JAVASCRIPT / "browser.html", folder)
    with serve(SharedDataMiddleware(Response(status=404), {"/": str(folder)})) as url:
        yield f"{url}/browser.html"


@in_both
def test_an_nft_is_sold(browsers, browser, service, page):
    tab = browsers(browser).new_page()
    problems = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto(page)
    tab.get_by_label("The service").fill(service.url)
    tab.get_by_label("Access token").fill(service.token)
    tab.get_by_role("button").click()
    output = tab.locator("output")
    expect(output).to_contain_text("Done", timeout=4 * PATIENCE_MS)
    *lines, last = output.text_content().strip().splitlines()
    assert (last, problems) == ("Done", [])
    assert_sold(lines)
    tab.close()
