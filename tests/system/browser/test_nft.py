"""An NFT's page, and a stranger's words on it."""

import base64
import json
import re

from playwright.sync_api import expect

from harness import wallets
from marketplace.sandbox import wallet
from tests.system.browser.conftest import everywhere, on_two_screens

ALICE, CHARLIE = "0.0.1001", "0.0.1003"
DEVELOPER = {"fold-developer": "open"}  # as the browser remembers it


@everywhere
def test_it_works(visit):
    page = visit("/?collection=0.0.5004")  # which no test lists
    page.locator("#gallery h2 a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"^Peaks #\d+$"))
    expect(page.tab).to_have_title(re.compile(r"^Peaks #\d+ · NFT Marketplace$"))
    expect(page.locator(".traits > div").first).to_be_visible()
    sharp = re.compile(r" 640w, http://[^ ]*/sandbox/ipfs/[^ ]* 1280w$")
    expect(page.locator("#artwork img")).to_have_attribute("srcset", sharp)
    in_dollars = page.locator("#state .dollars")
    expect(in_dollars).to_have_text(re.compile(r"^about \$[\d,]+\.\d\d$"))
    rank = page.locator("#attributes .hint")
    expect(rank).to_have_text(re.compile(r"^Rarity rank \d+ of \d+$"))
    expect(page.locator(".traits .share").first).to_have_text(re.compile(r"^[\d.]+% have it$"))
    expect(page.locator("#fields")).to_be_hidden()
    page.get_by_text("Developer", exact=True).click()
    expect(page.locator("#fields")).to_be_visible()
    fields = page.locator("#fields dt").all_inner_texts()
    assert fields[:4] == ["Token", "Serial number", "Name", "File type"]
    expect(page.locator(".history li")).to_have_count(2)
    expect(page.locator(".history .memo")).to_contain_text("Listing NFT with 0.0.5004")
    expect(page.locator(".history .what").last).to_contain_text("Minted for 0.0.100")
    page.look("nft")


def test_the_json_stands_beside_the_curl_that_fetched_it(visit):
    page = visit("/nft/0.0.5001/1", remembered=DEVELOPER)
    exchange = page.locator("#calls .exchange").filter(has_text="/v1/nft/0.0.5001/1").first
    exchange.click()
    expect(exchange.locator("code").nth(2)).to_contain_text('"serialNo": 1')
    curl = exchange.locator("code").nth(1)
    expect(curl).to_contain_text("/v1/nft/0.0.5001/1'")
    expect(curl).to_contain_text("-H 'Authorization: Bearer nftm_")


def test_code_is_copied(visit):
    page = visit(
        "/nft/0.0.5001/1",
        remembered=DEVELOPER,
        permissions=["clipboard-read", "clipboard-write"],
    )
    page.locator("#calls .exchange").filter(has_text="/v1/nft/0.0.5001/1").first.click()
    page.get_by_role("button", name="Copy the answer of /v1/nft/0.0.5001/1", exact=True).click()
    expect(page.locator("#calls [role=status]").filter(has_text="Copied")).to_have_count(1)
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied["token"] == "0.0.5001"


@on_two_screens
def test_it_handles_an_nft_that_is_not_stored(visit):
    page = visit("/nft/0.0.7777/1", refusals=[404])
    expect(page.locator("#state")).to_contain_text("Not in this market yet.")
    expect(page.get_by_role("heading", name="History")).to_be_hidden()
    page.look("nft-not-stored")
    page.get_by_role("link", name="List for sale", exact=True).click()
    expect(page.get_by_label("Token")).to_have_value("0.0.7777")


def test_one_that_is_not_stored_is_called_by_its_collection(visit):
    page = visit("/nft/0.0.5003/999", refusals=[404])
    expect(page.get_by_role("heading", level=1)).to_have_text("Dunes #999")
    expect(page.tab).to_have_title("Dunes #999 · NFT Marketplace")


def test_it_handles_an_invalid_address(visit):
    page = visit("/nft/Tides/seven", refusals=[400, 422], remembered=DEVELOPER)
    expect(page.locator("#state")).to_contain_text("The token must be three integers")
    expect(page.locator("#history")).to_be_hidden()
    expect(page.locator("#ledger")).to_contain_text("Invalid parameter: tokenid")


def test_the_history_shows_what_was_signed_at_each_moment(visit, trader):
    """Not what a stranger wrote who paid for the schedule that executed it."""
    nft = ("0.0.7801", 1)
    trader.call(f"/sandbox/api/v1/accounts/{ALICE}/nfts?token.id={nft[0]}&serialnumber={nft[1]}")
    body = wallets.new_body(CHARLIE, "the stranger's memo")
    scheduled = body.scheduleCreate.scheduledTransactionBody
    scheduled.transactionFee = body.transactionFee
    scheduled.memo = "the memo that was signed"
    wallets.allow(scheduled.cryptoApproveAllowance, nft, ALICE, "0.0.9001")
    signed = wallet.sign(ALICE, wallet.sign(CHARLIE, wallets.seal(body)))
    receipt = trader.call(
        "/sandbox/transactions", {"transaction": base64.b64encode(signed).decode()}
    )
    assert receipt["result"] == "SUCCESS"
    trader.call("/sandbox/transfers", {"tokenId": nft[0], "serialNo": nft[1], "accountId": CHARLIE})

    page = visit(f"/nft/{nft[0]}/{nft[1]}", refusals=[404], remembered=DEVELOPER)
    entries = page.locator(".history .what")
    expect(entries.nth(0)).to_contain_text("Moved from")
    expect(entries.nth(1)).to_contain_text("Approved for sale")
    expect(page.locator(".history .memo")).to_have_text("the memo that was signed")
    page.look("nft-history")


def test_the_policy_stops_what_would_slip_through(visit):
    """Were a script to write markup one day, the browser would not let it."""
    page = visit("/")
    markup = (
        "() => { try { document.body.innerHTML = '<b>' } catch (error) { return error.message } }"
    )
    assert "TrustedHTML" in page.evaluate(markup)
    assert "TrustedHTML" in page.problems.pop()


def test_without_javascript_the_pages_are_read(visit):
    readable = {
        "/": "#gallery .card h2",
        "/collection/0.0.5001": "#gallery .card h2",
        "/account/0.0.1001": "#gallery .card h2",
        "/nft/0.0.5001/1": "#history .what",
        "/activity": ".events .what",
    }
    for path, words in readable.items():
        page = visit(path, java_script_enabled=False)
        expect(page.locator("noscript p")).to_contain_text("Without JavaScript")
        expect(page.locator(words).first).to_be_visible()
        expect(page.locator("main img").first).to_be_visible()
        for promise in page.locator(".scripted").all():
            expect(promise).to_be_hidden()
    page = visit("/", java_script_enabled=False)
    page.get_by_role("link", name="Show more").click()
    page.wait_for_url("**/?page=*")
    expect(page.locator("#gallery .card").first).to_be_visible()
    page.get_by_label("From, in HBAR").fill("1000")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**minPrice=1000*")
    expect(page.locator("#gallery .card").first).to_be_visible()


def test_its_picture_fills_the_screen_by_key_and_by_click(visit):
    page = visit("/nft/0.0.5003/2")
    full = page.locator("#picture")
    page.keyboard.press("f")
    expect(full).to_be_visible()
    page.keyboard.press("Escape")
    expect(full).to_be_hidden()
    page.locator("#artwork a").click()
    expect(full).to_be_visible()
    page.go_back()
    expect(full).to_be_hidden()


def test_it_links_to_the_next_and_the_previous_nft(visit):
    page = visit("/nft/0.0.5003/2")
    expect(page.locator(".others .card").first).to_be_visible()
    page.get_by_role("link", name="#3 ›").click()
    page.wait_for_url("**/nft/0.0.5003/3")
    page.get_by_role("link", name="‹ #2").click()
    page.wait_for_url("**/nft/0.0.5003/2")
