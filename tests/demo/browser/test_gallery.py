"""The order book as a gallery."""

import re

import pytest
from playwright.sync_api import expect

from tests.demo.browser.conftest import DESKTOP, PHONE, needs_chromium

pytestmark = [needs_chromium, pytest.mark.once("a browser sees no engine")]


def cards(page):
    return page.locator("#gallery > li:not(.skeleton)")


@pytest.mark.parametrize(
    ("size", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")], ids=["phone-dark", "desktop-light"]
)
def test_it_works(visit, size, scheme):
    visitor = visit("/", size=size, scheme=scheme)
    expect(cards(visitor.page)).to_have_count(20)
    first = cards(visitor.page).first
    expect(first.get_by_role("heading")).not_to_be_empty()
    expect(first.locator(".price")).to_have_text(re.compile(r"^[\d,]+ HBAR$"))
    expect(first.locator(".by a")).to_have_text(re.compile(r"^0\.0\.100[1-6]$"))
    expect(first.locator("time")).to_have_attribute("datetime", re.compile(r"^20.*Z$"))
    expect(first.get_by_role("img")).to_have_attribute("alt", re.compile(r"^Artwork of .+ #\d+: "))
    assert first.get_by_role("img").evaluate(
        "image => image.decode().then(() => image.naturalWidth)"
    )
    visitor.look("gallery", full=False)


def test_more_follows_the_link(visit):
    page = visit("/").page
    page.get_by_role("button", name="Show more").click()
    expect(cards(page)).to_have_count(40)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    names = cards(page).locator("h2").all_inner_texts()
    assert len(set(names)) == 40
    assert page.evaluate("document.activeElement.textContent") == names[20]
    expect(page.locator("#calls .exchange")).to_have_count(2)


def test_it_handles_a_collection(visit):
    page = visit("/").page
    page.get_by_role("link", name="Orbits", exact=True).click()
    expect(cards(page)).to_have_count(10)
    assert all("Orbits #" in name for name in cards(page).locator("h2").all_inner_texts())
    expect(page.get_by_role("link", name="Orbits", exact=True)).to_have_attribute(
        "aria-current", "true"
    )


def test_it_handles_an_account(visit):
    page = visit("/").page
    owner = cards(page).first.locator(".by a").inner_text()
    cards(page).first.locator(".by a").click()
    page.wait_for_url(f"**/?account={owner}")
    expect(cards(page).first).to_be_visible()
    assert {*cards(page).locator(".by a").all_inner_texts()} == {owner}


def test_it_handles_both(visit):
    page = visit("/").page
    page.get_by_label("Collection", exact=True).fill("0.0.5002")
    page.get_by_label("Account").fill("0.0.1004")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**/?collection=0.0.5002&account=0.0.1004")
    expect(page.locator("#count")).to_contain_text("of collection 0.0.5002, owned by 0.0.1004")
    assert {*cards(page).locator(".by a").all_inner_texts()} <= {"0.0.1004"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_handles_nothing_for_sale(visit, scheme):
    visitor = visit("/?account=0.0.99", scheme=scheme)
    expect(visitor.page.get_by_text("Nothing owned by 0.0.99 is listed right now.")).to_be_visible()
    visitor.look("gallery-empty")


def test_it_shows_that_it_is_loading(visit):
    visitor = visit("/demo/list")
    held = []
    visitor.page.route("**/v1/orderbook", lambda route: held.append(route))
    visitor.page.get_by_role("link", name="For sale").click()
    expect(visitor.page.locator(".skeleton").first).to_be_visible()
    expect(visitor.page.locator("#gallery")).to_have_attribute("aria-busy", "true")
    visitor.look("gallery-loading", settle=False)
    held.pop().continue_()
    expect(cards(visitor.page)).to_have_count(20)
    expect(visitor.page.locator(".skeleton")).to_have_count(0)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_an_error_is_the_sentence_of_the_api(visit, size):
    visitor = visit("/?collection=Tides", size=size, refusals=[422])
    sentence = 'tokenId must be three integers joined by dots, such as 0.0.1234, not "Tides"'
    expect(visitor.page.get_by_role("alert")).to_contain_text(sentence)
    expect(visitor.page.get_by_role("button", name="Try again")).to_have_count(0)
    visitor.look("gallery-error")


def test_a_service_that_is_gone_is_said(visit):
    page = visit("/demo/list", refusals=[0]).page
    page.route("**/v1/orderbook", lambda route: route.abort())
    page.goto(page.url.replace("/demo/list", "/"))
    expect(page.get_by_role("alert")).to_contain_text("The service did not answer")
    page.unroute("**/v1/orderbook")
    page.get_by_role("button", name="Try again").click()
    expect(cards(page)).to_have_count(20)
    expect(page.get_by_role("alert")).to_have_count(0)
