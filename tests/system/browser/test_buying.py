"""Buying, in one click or step by step, with the real transaction: who pays whom, what is said."""

import re
from itertools import count

import pytest
from playwright.sync_api import expect

from tests.system.browser.cards import hbar
from tests.system.browser.conftest import PHONE, everywhere, in_both
from tests.system.browser.steps import EVERY_STEP, expect_done, press, shown, step

SERIALS = count(1000)
SELLER, BUYER, MARKET, ROYALTIES = "0.0.1001", "0.0.2007", "0.0.9001", "0.0.2001"
TIDES = "0.0.5001"  # a collection with royalties: 5 %


@pytest.fixture
def offer(visit, trader):
    """The page of an NFT that was just listed, at its dialog for buying."""

    def offer(price=200, seller=SELLER, you=BUYER, every_step=True, **options):
        nft = TIDES, next(SERIALS)
        trader.list(nft, seller, price)
        remembered = {"account": you} | (EVERY_STEP if every_step else {})
        page = visit(f"/nft/{nft[0]}/{nft[1]}", remembered=remembered, **options)
        page.nft = nft
        page.get_by_role("link", name="Buy now", exact=True).click()
        expect(page.get_by_role("heading", name="Buy now")).to_be_focused()
        return page

    return offer


@pytest.fixture
def listed(visit, trader):
    """The page of an NFT that was just listed. Its dialog was not opened yet."""

    def listed(**options):
        nft = TIDES, next(SERIALS)
        trader.list(nft, SELLER, 200)
        return visit(f"/nft/{nft[0]}/{nft[1]}", **options)

    return listed


def begin(page):
    page.get_by_role("link", name="Buy now", exact=True).click()


def steps(page):
    return page.locator("#purchase")


def rows(table):
    return [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]


def parts(table):
    """Who pays and who gets what, as a table says it."""
    return [[" ".join(cell.split()) for cell in row] for row in rows(table)]


def go_on_to_submit(page):
    press(steps(page), "Sign with the demo wallet")
    expect_done(steps(page), "sign", f"The demo wallet signed for {BUYER}.")


@everywhere
def test_it_takes_two_clicks_from_the_gallery(visit, trader):
    nft = TIDES, next(SERIALS)
    trader.list(nft, SELLER, 40)
    page = visit("/")
    page.locator(".card").first.hover()
    page.get_by_role("link", name=f"Buy Tides #{nft[1]}").click()
    press(page, "Buy for 40 HBAR")
    expect(page.get_by_role("heading", name=f"You own Tides #{nft[1]}")).to_be_focused()
    receipt = steps(page).locator("[data-trade]")
    expect(receipt).to_contain_text(re.compile(r"You paid 40 HBAR, and have [\d,.]+ HBAR now\."))
    assert parts(receipt.locator("[data-outcome] table")) == [
        [f"Buyer {BUYER}", "pays 40 HBAR"],
        [f"Seller {SELLER}", "gets 38 HBAR"],
        [f"Royalty {ROYALTIES}", "gets 2 HBAR"],
    ]
    expect(step(steps(page), "report")).to_be_hidden()
    page.look("buying-one-click")
    press(page, "View")
    expect(page.locator("#state")).to_contain_text(f"Owned by {BUYER} (you)")
    expect(page.get_by_role("link", name="List for sale", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="List for sale", exact=True)).to_be_focused()
    page.get_by_text("Fees and royalties").click()
    expect(page.locator("#cost div")).to_contain_text("At the floor price:")
    expect(page.locator("#cost tr").nth(1)).to_contain_text(f"Seller {BUYER}")


def test_every_step_stays_open_for_whoever_opened_it(offer):
    page = offer(every_step=False)
    page.get_by_text("Show every step").first.click()
    press(page, "Buy for 200 HBAR")
    expect(page.get_by_role("heading", name="You own Tides")).to_be_focused()
    for name in ("prepare", "look", "sign", "submit", "report", "settled"):
        expect(step(steps(page), name)).to_have_class(re.compile("done"))
    for name in (
        "prepare",
        "look",
        "sign",
        "submit",
        "settled",
    ):  # handed in, and confirmed at once
        expect(step(steps(page), name).locator(".exchange").first).to_be_visible()
    page.goto(page.site + "/list")
    expect(step(page, "add")).to_be_visible()


@everywhere
def test_it_works(offer):
    page = offer()
    token, serial_no = page.nft
    page.look("buying-1-start")
    press(steps(page), "Prepare the transaction")
    expect_done(steps(page), "look", "The marketplace signs last")
    inside = shown(page, "#purchase")
    assert inside["NFT"] == f"{token} #{serial_no}"
    assert inside["From"] == f"{SELLER}, the seller"
    assert inside["To"] == f"{BUYER}, the buyer"
    assert inside["Pays"] == f"{BUYER}, the buyer: 200 HBAR"
    assert inside["Is paid"] == f"{SELLER}, the seller: 200 HBAR"
    paid = rf"At most [\d.]+ HBAR, paid by {MARKET}, the marketplace; plus the association of the receiver .*"
    assert re.fullmatch(paid, inside["Network fee"])
    assert inside["Royalty"] == f"{ROYALTIES}: 10 HBAR of that"
    assert inside["Remains"] == f"{SELLER}, the seller: 190 HBAR"
    assert inside["Signatures"] == "None yet"
    go_on_to_submit(page)
    press(steps(page), "Hand in the signature")
    expect_done(steps(page), "submit", "The marketplace has signed it, too, and submitted it: OK.")
    expect(page.locator("#purchase .left")).to_have_text("It is submitted")
    expect_done(steps(page), "report", "The ledger shows it.")

    expect(step(steps(page), "settled")).to_have_class(re.compile("done"))
    table = rows(step(steps(page), "settled").locator("table"))
    differences = {re.search(r"0\.0\.\d+", row[0])[0]: row[3] for row in table}
    assert differences[BUYER] == "-200"
    assert differences[SELLER] == "+190"
    assert differences[ROYALTIES] == "+10"
    assert re.fullmatch(r"-0\.\d+", differences[MARKET])
    page.look("buying-2-bought")
    expect(page.locator("#state")).to_contain_text("Not for sale")
    expect(page.locator("#state")).to_contain_text(f"Owned by {BUYER}")
    sold = page.locator("#history .what").filter(has_text=f"to {BUYER}")
    expect(sold).to_be_visible()


def test_what_a_sale_costs_whom_is_said_before(offer):
    page = offer()
    page.keyboard.press("Escape")
    page.get_by_text("Fees and royalties").click()
    table = page.locator("#cost table")
    expect(table).to_be_visible()
    others = [
        [f"Seller {SELLER}", "gets 190 HBAR"],
        [f"Royalty {ROYALTIES}", "gets 10 HBAR"],
    ]
    assert parts(table) == [["Buyer", "pays 200 HBAR"], *others]
    page.get_by_role("link", name="Buy now", exact=True).click()
    deal = steps(page).locator("[data-part=trade]")
    expect(deal.get_by_role("img", name="Artwork of Tides")).to_be_visible()
    assert parts(deal.locator("table")) == [[f"Buyer {BUYER}", "pays 200 HBAR"], *others]
    expect(deal.locator("dt")).to_have_text(["You have", "Afterwards"])
    have, afterwards = map(hbar, deal.locator("dd").all_inner_texts())
    assert have - afterwards == pytest.approx(200)
    expect(page.locator("#cost")).to_contain_text("about 0.5 HBAR each")


@in_both
def test_a_buyer_with_too_little_sees_it_before(offer):
    page = offer(price=20_000)
    deal = steps(page).locator("[data-trade]")
    words = re.compile(r"^Not enough HBAR: you need [\d,.]+ HBAR more\.$")
    expect(deal.locator(".notice")).to_have_text(words)
    expect(deal.get_by_role("button", name="Buy for 20,000 HBAR")).to_be_disabled()
    page.look("buying-too-little")


@in_both
def test_a_price_is_locked_when_the_dialog_opens(offer, trader):
    page = offer(price=200)
    trader.list(page.nft, SELLER, 450)
    deal = steps(page).locator("[data-trade]")
    expect(deal.locator(".notice")).to_contain_text("Price changed: 200 → 450 HBAR")
    expect(page.locator("#state .price")).to_contain_text("450 HBAR")
    expect(deal.locator("[data-part=trade]")).to_contain_text("pays 200 HBAR")
    expect(deal.get_by_role("button", name="Buy for 200 HBAR")).to_be_disabled()
    page.look("buying-another-price")
    press(deal, "Accept new price")
    expect(deal.locator(".notice")).to_have_count(0)
    expect(deal.locator("[data-part=trade]")).to_contain_text("pays 450 HBAR")
    press(deal, "Buy for 450 HBAR")
    expect(deal).to_contain_text("You paid 450 HBAR")


def test_a_price_that_changes_unseen_is_refused_and_said(offer, trader):
    page = offer(price=200, refusals=[409])
    expect(steps(page).get_by_role("button", name="Buy for 200 HBAR")).to_be_enabled()
    # They are held: the page would see it by itself.
    page.route("**/v1/nft/*/*/events?*", lambda route: None)
    trader.list(page.nft, SELLER, 250)
    press(steps(page), "Buy for 200 HBAR")
    page.unroute("**/v1/nft/*/*/events?*")
    deal = steps(page).locator("[data-trade]")
    expect(deal.locator(".notice")).to_contain_text("Price changed: 200 → 250 HBAR")
    press(deal, "Accept new price")
    press(deal, "Buy for 250 HBAR")
    expect(deal).to_contain_text("You paid 250 HBAR")


def test_a_price_that_comes_back_needs_no_acceptance(offer, trader):
    page = offer(price=200)
    deal = steps(page).locator("[data-trade]")
    trader.list(page.nft, SELLER, 150)
    expect(deal.locator(".notice")).to_contain_text("Price changed: 200 → 150 HBAR")
    trader.list(page.nft, SELLER, 200)
    expect(deal.locator(".notice")).to_have_count(0)
    expect(deal.get_by_role("button", name="Buy for 200 HBAR")).to_be_enabled()


@in_both
@pytest.mark.parametrize(
    "end",
    [
        lambda trader, nft: trader.withdraw(nft, SELLER),
        lambda trader, nft: trader.buy(nft, "0.0.1009"),
    ],
    ids=["withdrawn", "bought"],
)
def test_what_somebody_else_has_ended_is_said(offer, trader, end):
    page = offer(size=PHONE, refusals=[409])
    # They are held: the page would see it by itself.
    with page.expect_request("**/v1/nft/*/*/events?*"):
        page.route("**/v1/nft/*/*/events?*", lambda route: None)
    end(trader, page.nft)
    press(steps(page), "Buy for 200 HBAR")
    page.unroute("**/v1/nft/*/*/events?*")
    deal = steps(page).locator("[data-trade]")
    words = "Someone else bought it, or it was withdrawn. You weren't charged."
    expect(deal.locator(".notice.bad")).to_have_text(words)
    expect(page.locator("#state")).to_contain_text("Not for sale")
    expect(deal.locator("button.button:not(.quiet)")).to_be_disabled()
    page.look("buying-too-late")


@pytest.mark.parametrize("button", ["Buy for 200 HBAR", "Prepare the transaction"])
def test_a_refusal_is_the_sentence_of_the_api(offer, button):
    page = offer(you=MARKET, refusals=[409])
    press(steps(page), button)
    said = step(steps(page), "prepare").locator(".notice.bad")
    expect(said).to_contain_text("can neither list nor buy")
    expect(step(steps(page), "sign")).to_have_class(re.compile("locked"))


def test_what_is_handed_in_too_late_is_said_and_asked_for_again(offer, trader):
    page = offer(refusals=[409])
    press(steps(page), "Prepare the transaction")
    go_on_to_submit(page)
    trader.withdraw(page.nft, SELLER)  # a second too late
    press(steps(page), "Hand in the signature")
    said = step(steps(page), "submit").locator(".notice.bad")
    expect(said).to_contain_text("is not for sale")
    expect(page.locator("#state")).to_contain_text("Not for sale")
    page.look("buying-refused")
    press(steps(page), "Prepare a new one")
    expect(step(steps(page), "prepare").locator(".notice.bad")).to_contain_text("not for sale")


def test_a_dialog_that_cannot_be_filled_says_so_and_tries_again(offer):
    page = offer(every_step=False)
    page.keyboard.press("Escape")
    page.route("**/trade/**", lambda route: route.abort())
    page._refusals = [0]
    page.get_by_role("link", name="Buy now", exact=True).click()
    expect(steps(page)).to_be_visible()
    expect(steps(page).locator(".notice.bad")).to_contain_text("Can't reach the market")
    page.unroute("**/trade/**")
    press(steps(page), "Try again")
    expect(steps(page).get_by_role("button", name="Buy for 200 HBAR")).to_be_enabled()
    expect(steps(page).locator(".notice.bad")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.tab).to_have_url(re.compile("^[^#]*$"))


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "The page is too old. Reload it, and try again."),
        (429, "The market is busy. Try again in a few seconds."),
        (503, "Something went wrong (503). Try again."),
    ],
)
def test_why_a_dialog_stays_empty_is_said(listed, status, sentence):
    page = listed(refusals=(status,))
    page.route("**/trade/**", lambda route: route.fulfill(status=status, json={}))
    begin(page)
    expect(steps(page).locator(".notice.bad")).to_have_text(sentence)
    page.unroute("**/trade/**")
    press(steps(page), "Try again")
    expect(steps(page).get_by_role("button", name="Buy for 200 HBAR")).to_be_enabled()


def test_a_dialog_opens_before_its_answer_and_does_not_wait_for_ever(listed):
    page = listed(refusals=(0,))
    page.route("**/trade/**", lambda route: None)
    begin(page)
    expect(steps(page).locator(".loading")).to_be_visible()
    expect(steps(page).locator(".notice.bad")).to_have_text("The market takes too long. Try again.")


def test_a_token_that_is_refused_is_said_in_the_dialog(offer):
    page = offer(every_step=False, refusals=(401,))
    page.route("**/v1/buy/**", lambda route: route.continue_(headers={"authorization": "Bearer x"}))
    press(steps(page), "Buy for 200 HBAR")
    expect(steps(page).locator(".notice.bad")).to_contain_text("token")
    page.unroute("**/v1/buy/**")
    press(steps(page), "Buy for 200 HBAR")
    expect(steps(page).get_by_role("heading", name="You own")).to_be_visible()


def test_what_is_not_as_ordered_reaches_no_wallet(offer, trader):
    page, signed = offer(every_step=False), []
    other = TIDES, next(SERIALS)
    trader.list(other, SELLER, 200)
    keys = {"accountId": BUYER, "tokenId": other[0], "serialNo": other[1]}
    prepared = trader.call("/v1/buy/extwallet", keys)
    page.route("**/v1/buy/**", lambda route: route.fulfill(json=prepared))
    page.route("**/sandbox/sign", lambda route: signed.append(route.abort()))
    press(steps(page), "Buy for 200 HBAR")
    said = steps(page).locator("[data-trade] [data-outcome] .notice.bad")
    expect(said).to_contain_text("The transaction is not as ordered")
    assert signed == []


@pytest.mark.parametrize("script", ["trading/purchase.js", "trading/trade.js"])
def test_a_script_that_does_not_come_is_said_in_the_dialog(listed, script):
    page = listed(refusals=(0,))
    page.route(f"**/{script}", lambda route: route.abort())
    begin(page)
    expect(steps(page).locator(".notice.bad")).to_contain_text("Can't reach the market")
    page.unroute(f"**/{script}")
    press(steps(page), "Reload the page")
    expect(steps(page).get_by_role("button", name="Buy for 200 HBAR")).to_be_enabled()


def test_the_menu_of_accounts_that_does_not_come_is_said(visit):
    page = visit("/", refusals=(0,))
    page.route("**/menu.js", lambda route: route.abort())
    page.get_by_role("button", name="You are").click()
    expect(page.get_by_text("This can't be loaded. Reload the page to try again.")).to_be_visible()


def test_a_purchase_that_is_left_is_found_again(offer, trader):
    page, loads = offer(every_step=False), []
    page.on("request", lambda request: request.is_navigation_request() and loads.append(request))
    # Without its route, the browser would send what was held, and the page that is left would confirm it.
    page.route("**/v1/comingsoon", lambda route: route.continue_() if loads else None)
    press(steps(page), "Buy for 200 HBAR")
    expect(steps(page).locator("[data-progress]")).to_contain_text("Submitting to the ledger…")
    page.keyboard.press("Escape")
    expect(page.locator(".toast")).to_contain_text("Still in progress")
    page.reload(wait_until="commit")  # it is said for some seconds
    expect(page.locator(".toast")).to_have_text("Your purchase is confirmed.")
    assert trader.call(f"/v1/nft/{page.nft[0]}/{page.nft[1]}")["owner"]["accountId"] == BUYER


def test_the_notice_of_a_switch_outlasts_what_happens(offer, trader):
    page = offer(every_step=False)
    page.keyboard.press("Escape")
    press(page, "Switch account")
    notice = page.locator("#state .notice")
    expect(notice).to_have_text(f"You are {SELLER} now.")
    trader.list(page.nft, SELLER, 300)
    expect(page.locator("#state .price")).to_contain_text("300 HBAR")
    expect(notice).to_have_text(f"You are {SELLER} now.")


@in_both
def test_back_and_escape_close_the_dialog(offer):
    page = offer(every_step=False)
    page.evaluate("history.back()")
    expect(page.locator("#purchase")).to_be_hidden()
    press(page, "Switch account")
    expect(page.locator("#state .notice")).to_have_text(f"You are {SELLER} now.")
    page.get_by_role("link", name="Cancel listing").click()
    expect(page.locator("#withdrawal")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#withdrawal")).to_be_hidden()
    expect(page.tab).to_have_url(re.compile("^[^#]*$"))
