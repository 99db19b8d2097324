"""What happens while a list is shown: cards say so, and new listings wait for a click."""

import re
from itertools import count

from playwright.sync_api import expect

from tests.system.browser.cards import cards
from tests.system.browser.conftest import PHONE, in_both, on_screens

SERIALS = count(1)
SELLER, BUYER = "0.0.2031", "0.0.2032"
TOKENS = {"chromium": "0.0.7870", "firefox": "0.0.7871"}


@in_both
@on_screens((PHONE, "dark"))
def test_it_works(visit, trader, browser):
    token = TOKENS[browser]
    nft = token, next(SERIALS)
    trader.list(nft, SELLER, 70)
    page = visit(f"/collection/{token}")
    card = cards(page).first
    price = card.locator(".price")
    expect(price).to_have_text("70 HBAR")
    top = card.bounding_box()["y"]
    trader.list(nft, SELLER, 90)
    expect(price).to_have_text("90 HBAR", timeout=4_500)
    other = token, next(SERIALS)
    trader.list(other, SELLER, 50)
    arrived = page.get_by_role("button", name="1 new")
    expect(arrived).to_be_visible(timeout=4_500)
    trader.buy(nft, BUYER)
    expect(price).to_have_text(f"Sold to {BUYER}", timeout=4_500)
    assert card.bounding_box()["y"] == top, "the list has moved"
    page.look("live", full=False)
    arrived.click()
    expect(cards(page)).to_have_count(1)
    expect(price).to_have_text("50 HBAR")
    expect(arrived).to_be_hidden()


def test_a_listing_of_another_collection_does_not_count(visit, trader):
    page = visit("/collection/0.0.5002")
    expect(cards(page).first).to_be_visible()
    nft = "0.0.7872", next(SERIALS)
    with page.expect_response(lambda one: "/v1/events" in one.url and nft[0] in one.text()):
        trader.list(nft, SELLER, 10)
    expect(page.locator(".arrived")).to_be_hidden()


def test_a_picture_that_comes_later_takes_its_place(visit, trader):
    """The watcher may be faster than a page: then the next NFT is tried."""
    for _ in range(5):
        nft = "0.0.7873", next(SERIALS)
        trader.list(nft, SELLER, 70)
        page = visit("/collection/0.0.7873")
        card = cards(page).first
        if card.get_by_text("The picture is on its way").count():
            break
    else:
        raise AssertionError("each picture was there before its page")
    expect(card.locator(".artwork img")).to_have_attribute("alt", re.compile("^Artwork of .*Form"))
    expect(card.locator(".lost")).to_have_count(0)
