"""A real browser at a real service with the sample in it. Needs chromium: make browser installs it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from tests.conftest import serving

CHROMIUM = shutil.which("chromium")
OPTIONS = [
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_MS = 30_000  # with a page, on a machine that may be busy
expect.set_options(timeout=PATIENCE_MS)
SCREENSHOTS = Path(__file__).parent / "screenshots"
PHONE, DESKTOP = (390, 844), (1280, 900)


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (make browser)")


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def market(browser, tmp_path_factory):
    """The address of a service with the sample in it, and the folder of its files."""
    folder = tmp_path_factory.mktemp("market")
    with serving(folder) as (url, environ):
        command = ["flask", "--app", "wsgi", "sandbox", "seed"]
        subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=True)
        yield url, folder


@pytest.fixture
def visit(browser, market):
    """Open a page: visit("/", size=PHONE). Whatever goes wrong unasked in it fails the test."""
    url, _ = market
    visitors = []

    def visit(path="/", at=url, **options):
        visitors.append(Visitor(browser, at, **options))
        visitors[-1].page.goto(at + path)
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.context.close()
        assert visitor.problems == []


class Visitor:
    """Somebody with a browser: the page, and all that a page can do wrong."""

    def __init__(self, browser, url, size=DESKTOP, scheme="light", refusals=(), **options):
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            reduced_motion="reduce",
            **options,
        )
        self.problems = []
        self._name = f"{scheme}-{size[0]}"
        self._url = url
        self._refusals = refusals
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.problems.append(f"{error}"))
        self.page.on("requestfailed", self._fail)
        self.page.on("request", self._check_address)
        self.page.on("response", lambda response: self._refuse(response.status, response.url))

    def _hear(self, message):
        # What a page could not load is told by its status, too.
        if message.type in ("error", "warning") and "Failed to load" not in message.text:
            self.problems.append(message.text)

    def _fail(self, request):
        # Who leaves a page gives up what it was still loading.
        if request.failure != "net::ERR_ABORTED":
            self._refuse(0, request.url)

    def _refuse(self, status, url):
        if not 200 <= status < 400 and status not in self._refusals:
            self.problems.append(f"{status} {url}")

    def _check_address(self, request):
        if not request.url.startswith(self._url):
            self.problems.append(f"an external request: {request.url}")
        if "nftm_" in request.url:
            self.problems.append(f"a token in an address: {request.url}")

    def look(self, name, full=True, settle=True):
        """Check what is on the screen as people would, and keep a picture of it."""
        if settle:
            self.page.wait_for_load_state("networkidle")
        width = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, f"{name} is {width} px too wide"
        assert self.page.locator("h1").count() == 1
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}-{self._name}.png", full_page=full)
        found = Axe().run(self.page)
        assert found.violations_count == 0, found.generate_report()

    def tab_to(self, selector):
        """Go on with the keyboard until the focus is there."""
        for _ in range(80):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"the keyboard does not reach {selector}")
