"""Real browsers at a real service with the sample in it. Needs chromium and Firefox: make tools."""

import base64
import fcntl
import hashlib
import shutil
import sys
import time
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright
from sqlite_utils.utils import sqlite3

from harness.network import PATIENCE_SECONDS
from harness.serving import ROOT, serve, watcher
from tests.system.browser.firefox import FIREFOX
from tests.system.browser.trader import Trader

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
PHONE, TABLET, DESKTOP = (390, 844), (768, 1024), (1440, 900)
# Leaving a page aborts its requests: the words of chromium and Firefox for it.
GIVEN_UP = {"net::ERR_ABORTED", "NS_BINDING_ABORTED"}
# The console repeats the status of a failed request. And with each picture Playwright puts a style into
# the page, which the page's policy refuses; Firefox says so.
PLAYWRIGHTS_STYLE = base64.b64encode(hashlib.sha256(b"body {}").digest()).decode()
# In each page but the empty one with which a browser begins.
REMEMBER = "location.host && (localStorage['%s'] ??= '%s')"

needs_firefox = pytest.mark.skipif(FIREFOX is None, reason="needs firefox-esr (make tools)")
# A test runs in chromium; with this, in Firefox, too.
in_both = pytest.mark.parametrize(
    "browser", ["chromium", pytest.param("firefox", marks=needs_firefox)], indirect=True
)


def on_screens(*screens):
    """A test sees a desktop in the light; with this, each of these screens."""
    ids = [f"{size[0]}-{scheme}" for size, scheme in screens]
    return pytest.mark.parametrize("screen", screens, ids=ids, indirect=True)


on_two_screens = on_screens((PHONE, "dark"), (DESKTOP, "light"))
# The same in chromium, and the phone in Firefox, too: test_pictures.py has its other screens.
everywhere = pytest.mark.parametrize(
    ("browser", "screen"),
    [
        ("chromium", (PHONE, "dark")),
        ("chromium", (DESKTOP, "light")),
        pytest.param("firefox", (PHONE, "dark"), marks=needs_firefox),
    ],
    ids=["chromium-390-dark", "chromium-1440-light", "firefox-390-dark"],
    indirect=True,
)


def pytest_collection_modifyitems(items):
    """These tests first: they share what takes long to set up, and who is idle takes from the end."""
    items.sort(key=lambda item: "browser" not in item.fixturenames)


@pytest.fixture(scope="session")
def browsers(tmp_path_factory):
    """Start a browser once; Firefox once each for light and dark, which are set at its start."""
    if CHROMIUM is None:
        pytest.skip("needs chromium (make tools)")
    program = tmp_path_factory.mktemp("browsers") / "firefox"
    program.write_text(
        f'#!/bin/sh\ncd "{ROOT}" && exec "{sys.executable}" -m tests.system.browser.firefox "$@"\n'
    )
    program.chmod(0o755)
    with sync_playwright() as playwright:
        chromium = cache(lambda: playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS))

        @cache
        def firefox(scheme):
            return playwright.firefox.launch(
                channel="moz-firefox",  # as it is, not as Playwright would build it
                executable_path=program,
                firefox_user_prefs={
                    "layout.css.prefers-color-scheme.content-override": int(scheme == "light"),
                    "ui.prefersReducedMotion": 1,
                    # Back reloads a page. Otherwise, Playwright does not see it come back.
                    "browser.sessionhistory.max_total_viewers": 0,
                },
            )

        # When Playwright stops, it ends what it has begun.
        yield lambda name, scheme="light": chromium() if name == "chromium" else firefox(scheme)


@pytest.fixture
def browser(request):
    """The name of the browser of this test."""
    return getattr(request, "param", "chromium")


@pytest.fixture
def screen(request):
    """The size and the colour scheme of this test's screen."""
    return getattr(request, "param", (DESKTOP, "light"))


@pytest.fixture(scope="session")
def sample(tmp_path_factory, worker_id):
    """A folder of a service with the sample in it: the first process that needs it makes it for all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "sample"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            making = folder.with_suffix(".made")
            making.mkdir()
            with serve(making) as service:
                service.flask("sandbox", "seed")
                with watcher(making, PUBLIC_URL=service.url):
                    complete(making)
            making.rename(folder)
    return folder


@pytest.fixture(scope="session")
def market(browsers, sample, tmp_path_factory):
    """A service with the sample in it."""
    folder = tmp_path_factory.mktemp("market")
    shutil.copytree(sample, folder, dirs_exist_ok=True)
    with serve(folder) as service, watcher(folder, PUBLIC_URL=service.url):
        yield service
    assert "Traceback" not in service.output
    assert "curl -H 'Authorization: Bearer nftm_" in service.output


@pytest.fixture(scope="session")
def trader(market):
    """Somebody at the API, beside the browser."""
    return Trader(market)


def complete(folder):
    """Wait until no NFT lacks its image. What took too long on a busy machine is due again at once."""
    started = time.monotonic()
    hasten = (
        "UPDATE nft SET retry_at = '2026-01-01T00:00:00Z' WHERE missing NOTNULL AND attempts > 1"
    )
    path = folder / "instance/marketplace.db"
    with closing(sqlite3.connect(path, timeout=PATIENCE_SECONDS, isolation_level=None)) as db:
        while db.execute("SELECT count(*) FROM nft WHERE missing NOTNULL").fetchone() != (0,):
            assert time.monotonic() - started < 10 * PATIENCE_SECONDS, "the images do not come"
            time.sleep(0.5)
            db.execute(hasten)


@pytest.fixture
def site(market):
    """The address of the service that is visited."""
    return market.url


@pytest.fixture
def visit(browsers, browser, screen, site):
    """Open a page: visit("/", size=PHONE). Whatever goes wrong unasked in it fails the test."""
    pages = []

    def visit(path="/", at=site, size=screen[0], **options):
        begun = browsers(browser, screen[1])
        name = f"{browser}-{screen[1]}-{size[0]}"
        page = CheckedPage(begun, name, at, size, screen[1], **options)
        pages.append(page)
        page.goto(at + path)
        return page

    yield visit
    for page in pages:
        page.context.close()
        assert page.problems == []


TOO_WIDE = """[...document.querySelectorAll("*")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth)
    .map((each) => `${each.tagName}.${each.className}#${each.id}`).slice(0, 20)"""


class CheckedPage:
    """A page in a browser of its own, and all that a page can do wrong. Playwright's own is in ``tab``.

    ``remembered`` is what the demo has kept in that browser, such as "account": "0.0.1001".
    """

    def __init__(self, browser, name, url, size, scheme, refusals=(), remembered=None, **options):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            reduced_motion="reduce",
            **options,
        )
        self.problems = []
        self._name = name
        self.site = url
        self._refusals = refusals
        self._runs_scripts = options.get("java_script_enabled", True)
        for key, value in (remembered or {}).items():
            context.add_init_script(REMEMBER % (f"market-{key}", value))
        self.tab = context.new_page()
        self.set_default_timeout(PATIENCE_MS)
        self.on("console", self._hear)
        self.on("pageerror", lambda error: self._note(f"{error}"))
        self.on("requestfailed", self._fail)
        self.on("request", self._check_address)
        self.on("response", lambda response: self._refuse(response.status, response.url))

    def __getattr__(self, name):
        """It does whatever Playwright's page does."""
        return getattr(self.tab, name)

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self._note(message.text)

    def _note(self, sentence):
        if not any(known in sentence for known in ("Failed to load", PLAYWRIGHTS_STYLE)):
            self.problems.append(sentence)

    def _fail(self, request):
        # Where no scripts run, chromium gives up those that a page would load ahead.
        is_loaded = self._runs_scripts or request.resource_type != "script"
        if is_loaded and request.failure not in GIVEN_UP:
            self._refuse(0, request.url)

    def _refuse(self, status, url):
        if not 200 <= status < 400 and status not in self._refusals:
            self.problems.append(f"{status} {url}")

    def _check_address(self, request):
        if not request.url.startswith(self.site):
            self.problems.append(f"an external request: {request.url}")
        if "nftm_" in request.url:
            self.problems.append(f"a token in an address: {request.url}")

    def lead(self, name):
        """Press a link of the masthead, which is in a menu where there is little room."""
        menu = self.get_by_role("button", name="Menu", exact=True)
        if menu.is_visible():
            menu.click()
        self.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()

    def look(self, name, full=True, settle=True):
        """Check what is on the screen as people would, and keep a picture of it."""
        if settle:
            self.wait_for_load_state("networkidle")
        width = self.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, f"{name} is {width} px too wide: {self.evaluate(TOO_WIDE)}"
        assert self.locator("h1").count() == 1
        SCREENSHOTS.mkdir(exist_ok=True)
        self.screenshot(path=SCREENSHOTS / f"{name}-{self._name}.png", full_page=full)
        found = Axe().run(self.tab)
        assert found.violations_count == 0, found.generate_report()

    def tab_to(self, selector):
        """Go on with the keyboard until the focus is there."""
        for _ in range(80):
            self.keyboard.press("Tab")
            if self.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"the keyboard does not reach {selector}")
