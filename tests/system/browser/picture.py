"""Takes the picture in the README, of the sandbox's sample: python -m tests.system.browser.picture"""

import tempfile
from pathlib import Path

import pyvips
from playwright.sync_api import sync_playwright

from harness.serving import ROOT, serve, watcher
from tests.system.browser.conftest import CHROMIUM, DESKTOP, OPTIONS, PHONE, complete

GAP = 40
BACKGROUND = [226, 226, 232]
WIDTH = 1440  # of the picture, which is of a desk and a phone side by side


def take(browser, url, size, link=None):
    """A screenshot of the first page, or of the page to which a link on it leads."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    page.goto(url)
    if link:
        page.goto(url + page.locator(link).first.get_attribute("href"))
    page.wait_for_load_state("networkidle")
    return pyvips.Image.new_from_buffer(page.screenshot(), "").extract_band(0, n=3)


def join(desk, phone):
    both = desk.join(
        phone, "horizontal", expand=True, shim=GAP, background=BACKGROUND, align="centre"
    )
    width, height = both.width + 2 * GAP, both.height + 2 * GAP
    framed = both.embed(GAP, GAP, width, height, background=BACKGROUND)
    return framed.resize(WIDTH / width)


def main():
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as service:
        service.flask("sandbox", "seed")
        with watcher(Path(folder), PUBLIC_URL=service.url):
            complete(Path(folder))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
            desk = take(browser, service.url, DESKTOP)
            phone = take(browser, service.url, PHONE, 'a[href*="/collection/"]')
    join(desk, phone).webpsave(str(ROOT / "docs/demo.webp"), Q=80, effort=6)


if __name__ == "__main__":
    main()
