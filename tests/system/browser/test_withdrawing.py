"""Withdrawing, step by step, as its owner; and a sale elsewhere, which ends a listing, too."""

from itertools import count

import pytest
from playwright.sync_api import expect

from tests.system.browser.conftest import DESKTOP, PHONE, in_both, on_screens
from tests.system.browser.steps import EVERY_STEP, expect_done, press, step

SERIALS = count(2000)
SELLER = "0.0.1001"


@pytest.fixture
def offer(visit, trader):
    """The page of an NFT that was just listed, as its owner sees it."""

    def offer(**options):
        nft = "0.0.5001", next(SERIALS)
        trader.list(nft, SELLER, 70)
        remembered = {"account": SELLER, "fold-developer": "open"} | EVERY_STEP
        page = visit(f"/nft/{nft[0]}/{nft[1]}", remembered=remembered, **options)
        page.nft = nft
        return page

    return offer


@in_both
@on_screens((PHONE, "light"), (DESKTOP, "dark"))
def test_it_works(offer):
    page = offer()
    token, serial_no = page.nft
    page.get_by_role("link", name="Cancel listing").click()
    steps = page.locator("#withdrawal")
    press(steps, "Prepare the transaction")
    words = (
        "Once it is signed and submitted, the marketplace may no longer sell what is named here."
    )
    expect_done(steps, "look", words)
    ticket = steps.locator(".ticket")
    expect(ticket).to_contain_text("Allowance taken back (AccountAllowanceDelete)")
    expect(ticket).to_contain_text(f"Delisting NFT with {token} and Serial Number {serial_no}")
    press(steps, "Sign with the demo wallet")
    press(steps, "Submit to the ledger")
    expect_done(steps, "submit", "SUCCESS")
    press(steps, "Report the transaction")
    expect_done(steps, "report", "The ledger shows it.")
    expect(page.locator("#state")).to_contain_text("Not for sale")
    expect(page.locator("#state")).to_contain_text(f"Owned by {SELLER}")
    expect(page.locator(".history .what").first).to_contain_text("Approval withdrawn")
    page.look("withdrawing")


@pytest.mark.parametrize("is_open", [True, False])
def test_what_is_no_longer_listed_is_said(offer, trader, is_open):
    """Whether its dialog was open before it was withdrawn, or is opened afterwards."""
    page = offer(refusals=[409])
    steps = page.locator("#withdrawal")
    open_dialog = "location.hash = '#withdrawal'"
    if is_open:
        page.evaluate(open_dialog)
        expect(steps.get_by_role("button", name="Cancel listing")).to_be_visible()
    trader.withdraw(page.nft, SELLER)
    if not is_open:
        page.evaluate(open_dialog)
    press(steps, "Prepare the transaction")
    said = step(steps, "prepare").locator(".notice.bad")
    expect(said).to_contain_text("not for sale")


@in_both
def test_one_click_is_enough(offer):
    page = offer(size=PHONE)
    steps = page.locator("#withdrawal")
    page.get_by_role("link", name="Cancel listing").click()
    expect(steps.locator("[data-trade]")).to_contain_text("Network fee: about 0.5 HBAR")
    press(steps, "Cancel listing")
    said = steps.get_by_role("heading", name="is no longer for sale")
    expect(said).to_have_text(f"Tides #{page.nft[1]} is no longer for sale")
    steps.get_by_role("link", name="List again").click()
    expect(page.locator("[data-part=nfts] .name")).to_have_text(f"Tides #{page.nft[1]}")
    floor = page.get_by_label("Price in HBAR").input_value()
    expect(page.get_by_role("button", name="Floor")).to_contain_text(f"{floor} HBAR")
    page.get_by_label("Price in HBAR").fill("1,250")
    expect(page.locator("[data-trade]")).to_contain_text("Network fee: about 0.5 HBAR")
    press(page, "List for sale")
    expect(page.get_by_role("heading", name=f"Tides #{page.nft[1]} is for sale")).to_be_visible()
    expect(page.locator("[data-trade]")).to_contain_text("Price: 1,250 HBAR")
    page.look("listing-one-click")
    page.get_by_role("link", name="View").click()
    page.get_by_role("link", name="Change price").click()
    expect(page.get_by_role("heading", name="Change the price")).to_be_visible()
    expect(page.get_by_label("Price in HBAR")).to_have_value("1250")
    expect(page.locator("#owned")).to_have_count(0)
    page.look("listing-change")
    page.get_by_label("Price in HBAR").fill("70")
    press(page, "Change the price")
    expect(page.locator("[data-trade]")).to_contain_text("Price: 70 HBAR.")


def test_what_you_own_is_there_to_choose(offer):
    page = offer(size=PHONE)
    nft = page.nft
    page.get_by_role("button", name=f"You are {SELLER}").click()  # and the balance beside it
    page.get_by_role("link", name="Your NFTs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SELLER)
    page.goto(f"{page.site}/list?token={nft[0]}")
    expect(page.locator("#owned img").first).to_be_visible()
    page.look("listing-owned")
    choice = page.locator("#owned a").first
    name = choice.inner_text()
    choice.click()
    expect(page.locator("[data-part=nfts] .name")).to_have_text(name)
    # Of what is listed the price is the one it has.
    page.get_by_label("Token").fill(nft[0])
    page.get_by_label("Serial number").fill(str(nft[1]))
    page.get_by_label("Serial number").blur()
    expect(page.get_by_label("Price in HBAR")).to_have_value("70")
    expect(page.get_by_role("button", name="Change the price")).to_be_visible()


def test_a_sale_elsewhere_ends_the_listing(offer):
    page = offer(refusals=[409])
    page.get_by_text("Sold elsewhere?").click()
    page.get_by_label("New owner").fill("0.0.1003")
    press(page, "Transfer")
    words = "It belongs to 0.0.1003 now, and its listing has left the order book."
    expect(page.locator("#elsewhere .outcome")).to_have_text(words)
    expect(page.locator("#state")).to_contain_text("Not for sale")
    expect(page.locator(".history .what").first).to_contain_text("to 0.0.1003")
    page.look("nft-sold-elsewhere")
    expect(page.locator("#state")).to_contain_text("0.0.1003")
