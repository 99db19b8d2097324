"""Offers on an NFT's page: made and withdrawn by the bidder, accepted by the owner."""

from itertools import count

import pytest
from playwright.sync_api import expect

from tests.system.browser.conftest import DESKTOP, PHONE, on_screens
from tests.system.browser.steps import expect_done, press

SERIALS = count(3000)
OWNER, BIDDER = "0.0.1001", "0.0.1002"


@pytest.fixture
def shown(visit, trader):
    """The page of an NFT that was just listed, as an account sees it, perhaps with an offer by the bidder."""

    def shown(account, *, offer=None, **options):
        nft = "0.0.5001", next(SERIALS)
        trader.list(nft, OWNER, 120)
        if offer:
            trader.offer(nft, BIDDER, offer)
        page = visit(f"/nft/{nft[0]}/{nft[1]}", remembered={"account": account}, **options)
        page.nft = nft
        return page

    return shown


@on_screens((PHONE, "dark"), (DESKTOP, "light"))
def test_an_offer_is_made(shown):
    page = shown(BIDDER)
    expect(page.locator("#offers")).to_have_text("No open offers.")
    page.get_by_role("link", name="Make an offer").click()
    dialog = page.locator("#offer")
    expect(dialog).to_contain_text("Your HBAR stay in your account")
    dialog.get_by_label("Price in HBAR").fill("1,090")
    page.look("offer-form", full=False)
    press(dialog, "Make an offer")
    expect(dialog.get_by_role("heading", name="is open")).to_have_text(
        "Your offer of 1,090 HBAR is open"
    )
    expect(dialog).to_contain_text("It expires in 7 days.")
    page.look("offer-made", full=False)
    press(dialog, "View")
    offers = page.locator("#offers li")
    expect(offers).to_contain_text(f"Offer of 1,090 HBAR by {BIDDER}")
    expect(offers).to_contain_text("Expires in 7 days · Covered")
    expect(offers.get_by_role("link", name="Accept offer")).to_be_hidden()
    expect(page.locator("#history")).to_contain_text(f"Offer of 1,090 HBAR by {BIDDER} made")
    page.look("offer-listed")
    page.goto(f"{page.site}/account/{BIDDER}/offers")
    expect(page.locator("#made li").first).to_contain_text("Offer of 1,090 HBAR")
    page.look("offers-of-account")
    page.goto(f"{page.site}/collection/{page.nft[0]}")
    expect(page.locator("#figures")).to_contain_text("Best offer")
    page.look("collection-best-offer", full=False)


def test_what_is_wrong_with_an_offer_is_said_and_what_was_typed_stays(shown):
    page = shown(BIDDER, refusals=[422])
    page.get_by_role("link", name="Make an offer").click()
    dialog = page.locator("#offer")
    dialog.get_by_label("Price in HBAR").fill("90")
    dialog.get_by_label("Days until it expires").fill("61")
    press(dialog, "Make an offer")
    expect(dialog.locator("[data-outcome] .bad")).to_contain_text("The number of days must be")
    expect(dialog.get_by_label("Price in HBAR")).to_have_value("90")
    dialog.get_by_label("Days until it expires").fill("60")
    press(dialog, "Make an offer")
    expect(dialog.get_by_role("heading", name="is open")).to_have_text(
        "Your offer of 90 HBAR is open"
    )


@on_screens((PHONE, "light"), (DESKTOP, "dark"))
def test_its_owner_accepts_it(shown):
    page = shown(OWNER, offer=90)
    expect(page.get_by_role("link", name="Make an offer")).to_be_hidden()
    expect(page.get_by_role("link", name="Withdraw offer")).to_be_hidden()
    page.get_by_role("link", name="Accept offer").click()
    dialog = page.locator("#acceptance")
    expect(dialog).to_contain_text(f"Offered by {BIDDER}, expires in 7 days")
    page.look("offer-acceptance", full=False)
    with page.expect_request("**/v1/acceptoffer/*") as asked:
        press(dialog, "Accept offer of 90 HBAR")
    assert asked.value.post_data_json["expectedPrice"] == 90
    expect(dialog.get_by_role("heading", name="You sold")).to_have_text(
        f"You sold Tides #{page.nft[1]}"
    )
    page.look("offer-accepted", full=False)
    press(dialog, "View")
    expect(page.locator("#state")).to_contain_text(f"Owned by {BIDDER}")
    expect(page.locator("#offers")).to_have_text("No open offers.")
    expect(page.locator("#history .what").first).to_contain_text(
        f"Sold by {OWNER} to {BIDDER} for 90 HBAR"
    )


def test_its_bidder_withdraws_it_step_by_step(shown):
    page = shown(BIDDER, offer=90)
    page.evaluate("localStorage['market-fold-steps'] = 'open'")
    page.get_by_role("link", name="Withdraw offer").click()
    steps = page.locator("#retraction")
    press(steps, "Prepare the transaction")
    expect_done(steps, "look", "the schedule of the sale is deleted")
    expect(steps.locator(".ticket")).to_contain_text("ScheduleDelete")
    press(steps, "Sign with the demo wallet")
    press(steps, "Submit to the ledger")
    expect_done(steps, "submit", "SUCCESS")
    press(steps, "Report the transaction")
    expect_done(steps, "report", "The ledger shows it.")
    page.look("offer-withdrawal")
    press(steps, "Close")
    expect(page.locator("#offers")).to_have_text("No open offers.")
    expect(page.locator("#history .what").first).to_contain_text(
        f"Offer of 90 HBAR by {BIDDER} withdrawn"
    )


def test_one_click_withdraws_it(shown):
    page = shown(BIDDER, offer=90)
    page.get_by_role("link", name="Withdraw offer").click()
    dialog = page.locator("#retraction")
    press(dialog, "Withdraw offer")
    expect(dialog.get_by_role("heading", name="The offer is withdrawn")).to_be_visible()


def test_the_offers_of_an_account_refresh_themselves(visit, trader):
    nft = "0.0.5001", next(SERIALS)
    trader.list(nft, "0.0.2041", 120)
    page = visit("/account/0.0.2041/offers")
    expect(page.locator("[data-part=received]")).to_have_text(
        "No open offers for this account's NFTs."
    )
    offer_id = trader.offer(nft, BIDDER, 70)
    expect(page.locator("#received li")).to_have_attribute("data-id", offer_id)
    expect(page.locator("#figures")).to_contain_text("Offers received1")
    trader.accept(offer_id, "0.0.2041", 70)
    expect(page.locator("[data-part=received]")).to_have_text(
        "No open offers for this account's NFTs."
    )
