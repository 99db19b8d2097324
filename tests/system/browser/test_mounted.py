"""The demo inside a larger WSGI stack: under a prefix, with the host's own users."""

import re

import pytest
from playwright.sync_api import expect
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from harness.apps import settings
from harness.network import serve
from marketplace import create_app
from marketplace.errors import NotAuthenticated
from tests.system.browser.reference import sample, try_it


class Host:
    """A shop that decides who may call the market beside it."""

    is_open = True

    def __call__(self, environ, start_response):
        return self.application(environ, start_response)

    def authenticate(self, request, scope):
        if not self.is_open:
            raise NotAuthenticated("Log in to the shop first")
        return True


@pytest.fixture
def host(browsers, tmp_path):
    """A test names it before visit: pages are closed first, and what they still load is not cut off."""
    host = Host()
    with serve(host) as host.url:
        own = settings(tmp_path) | {"API_PREFIX": "/api", "PUBLIC_URL": f"{host.url}/market"}
        market = create_app(authenticate=host.authenticate, **own)
        host.application = DispatcherMiddleware(market.wsgi_app, {"/market": market})
        yield host


def test_it_works_under_a_prefix(host, visit):
    page = visit("/market/list", at=host.url)
    page.get_by_role("button", name="List for sale", exact=True).click()
    link = page.get_by_role("link", name="View")
    expect(link).to_have_attribute("href", re.compile(r"^/market/nft/0\.0\.7007/\d+$"))
    link.click()
    expect(page.locator("#history .what").first).to_be_visible()
    page.locator("#of").click()
    expect(page.locator("#gallery h2")).to_have_count(1)
    page.lead("For sale")
    expect(page.locator("#gallery h2")).to_have_count(1)


def test_a_call_is_tried_under_a_prefix(host, visit):
    page = visit("/market/api/reference#sandbox/tag/sandbox/POST/decode", at=host.url)
    expect(sample(page, "post/decode")).to_contain_text(f"{host.url}/market/sandbox/decode")
    expect(try_it(page, "post/decode").get_by_text("200 OK")).to_be_visible()
    page.goto(f"{host.url}/market/api/reference#marketplace/tag/order-book/GET/api/v1/orderbook")
    page.reload()
    expect(try_it(page, "get/api/v1/orderbook").get_by_text("200 OK")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="List an NFT", exact=True).click()
    expect(page.tab).to_have_url(f"{host.url}/market/list")
    page.wait_for_load_state("networkidle")


def test_the_hosts_refusal_is_shown(host, visit):
    host.is_open = False
    page = visit("/market/", at=host.url, refusals=[401])
    expect(page.get_by_role("alert")).to_contain_text("Log in to the shop first")
