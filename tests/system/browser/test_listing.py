"""The listing, step by step, as wallet developers do it; test_withdrawing.py lists in one click."""

import re
from itertools import count

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from playwright.sync_api import expect

from tests.system.browser.conftest import everywhere, on_two_screens
from tests.system.browser.steps import EVERY_STEP, expect_done, press, shown, step

SERIALS = count(1)
LAST_SERIAL = 2**63 - 1


@pytest.fixture
def start(visit):
    """The listing's page, about an NFT that no test has used."""

    def start(account="0.0.2002", serial_no=None, **options):
        query = f"account={account}&token=0.0.7007&serial_no={serial_no or next(SERIALS)}"
        return visit(f"/list?{query}", remembered=EVERY_STEP, **options)

    return start


def prepare(page, price="250"):
    press(page, "Add")
    expect_done(page, "add", "It is stored")
    page.get_by_label("Price in HBAR").fill(price)
    press(page, "Prepare the transaction")
    expect(step(page, "sign")).to_have_class(re.compile("open"))


def finish(page):
    press(page, "Submit to the ledger")
    expect_done(page, "submit", "SUCCESS")
    press(page, "Report the transaction")
    expect_done(page, "report", "The ledger shows it")
    expect(step(page, "appear").locator(".card")).to_be_visible()


@everywhere
def test_it_says_what_one_gets_while_a_price_is_typed(visit, trader):
    owner = "0.0.1004"
    mine = next(
        nft
        for nft in trader.call(f"/v1/user/{owner}/nfts?limit=1000")
        if nft["token"] == "0.0.5001" and not nft["isForSale"]
    )
    page = visit("/list", remembered={"account": owner})
    page.locator("#owned").get_by_role("link", name=mine["name"], exact=True).click()
    expect(page.locator(".item .name")).to_have_text(mine["name"])
    expect(page.get_by_role("textbox", name="Token")).to_be_hidden()
    page.get_by_label("Price in HBAR").fill("200")
    proceeds = page.locator("#proceeds")
    expect(proceeds).to_contain_text("190 HBAR")
    expect(proceeds).to_contain_text("$")
    expect(proceeds).to_contain_text("Royalty")
    page.look("listing-proceeds")
    page.get_by_role("button", name="Floor").click()
    floor = trader.call("/v1/collection/0.0.5001")["floorPrice"]
    expect(page.get_by_label("Price in HBAR")).to_have_value(str(floor))


def test_what_is_not_yours_is_said_before_the_click(visit, trader):
    nft = trader.call("/v1/nft/0.0.5003/1")
    owner = nft["owner"]["accountId"]
    page = visit("/list?token=0.0.5003&serial_no=1", remembered={"account": "0.0.2002"})
    expect(page.get_by_text(f"Only {owner} can list it")).to_be_visible()
    expect(page.get_by_role("button", name="List for sale", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Switch account").click()
    change = page.get_by_role("button", name="Change the price")
    expect(change).to_be_enabled()


@everywhere
def test_it_works_from_the_gallery_to_the_order_book(visit):
    page = visit("/", remembered=EVERY_STEP | {"account": "0.0.2002"})
    serial_no = next(SERIALS)
    page.locator("#gallery h2 a").first.click()
    expect(page.locator("#history li").first).to_be_visible()
    page.lead("List an NFT")
    page.get_by_label("Serial number").fill(str(serial_no))
    page.look("listing-1-start")

    prepare(page)
    inside = shown(page)
    assert re.search(r"2:[0-5]\d left$", inside.pop("Valid until"))
    assert inside.pop("Transaction id").startswith("0.0.2002@")
    assert inside.pop("Size").endswith(" bytes")
    assert inside == {
        "Type": "NFT allowance (AccountAllowanceApprove)",
        "Token": "0.0.7007",
        "Serial number": str(serial_no),
        "Owner": "0.0.2002",
        "Spender": "0.0.9001",
        "Whole collection": "Approval unchanged",
        "Memo": f"Listing NFT with 0.0.7007 and Serial Number {serial_no} for 250 HBAR on NFT Marketplace",
        "Network fee": "At most 5 HBAR, paid by 0.0.2002",
        "Nodes": "0.0.3",
        "Signatures": "None yet",
    }
    page.look("listing-2-prepared")

    press(page, "Sign with the demo wallet")
    expect_done(page, "sign", "The demo wallet signed for 0.0.2002.")
    finish(page)
    name = f"Sandbox 0.0.7007 #{serial_no}"
    expect(step(page, "appear").locator(".card h2")).to_have_text(name)
    page.look("listing-3-listed")

    gallery = page.context.new_page()
    gallery.goto(page.site)
    expect(gallery.locator("#gallery h2").first).to_have_text(name)

    gallery.close()
    step(page, "appear").get_by_role("link", name="cancel the listing").click()
    expect(page.get_by_role("heading", name="Cancel listing")).to_be_focused()


def test_the_keyboard_is_enough(start):
    page = start()
    keyboard = page.keyboard
    keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keyboard.press("Enter")
    page.tab_to("[name=price]")
    keyboard.type("75")
    for name, key, following in (
        ("[data-step=add]", "Enter", "prepare"),
        ("[data-step=prepare]", "Enter", "look"),
        ("[data-way=demo]", "Space", "submit"),
        ("[data-step=submit]", "Enter", "report"),
        ("[data-step=report]", "Enter", "appear"),
    ):
        page.tab_to(f"{name} .button")
        keyboard.press(key)
        expect(step(page, following).locator("h2.title")).to_be_focused()


def test_ones_own_wallet_signs(start):
    page = start(account="0.0.3003", refusals=[422])
    prepare(page)
    page.get_by_text("With your own wallet").click()
    use_bytes(page, "no bytes")
    refused = "transaction must be base64 of a transaction's bytes"
    expect(step(page, "sign")).to_contain_text(refused)
    page.look("listing-paste-refused")

    unsigned = page.locator("[data-transaction] code").inner_text()
    use_bytes(page, unsigned)
    expect(step(page, "sign")).to_contain_text("These bytes carry no signature")

    use_bytes(page, signed(page, unsigned, PrivateKey.generate_ecdsa()))
    expect_done(page, "sign", "These bytes carry one signature.")
    finish(page)


def use_bytes(page, content):
    page.get_by_label("Signed bytes, base64").fill(content)
    press(page, "Use these bytes")


def signed(page, unsigned, key):
    """Sign the bytes with the demo's own Python snippet, and a key of ours."""
    page.get_by_text("With code: wallets and SDKs").click()
    page.get_by_text("Python SDK", exact=True).click()
    code = page.locator(".snippet code").last.inner_text()
    assert unsigned in code
    printed = []
    code = code.replace("PrivateKey.generate_ed25519()", "key_of_ours")
    exec(code, {"key_of_ours": key, "print": printed.append})
    page.get_by_text("With your own wallet").click()
    return printed[0]


def test_the_ledgers_refusal_is_shown(start):
    page = start(account="0.0.1001")  # whose key the ledger knows, from the sample
    prepare(page)
    unsigned = page.locator("[data-transaction] code").inner_text()
    use_bytes(page, signed(page, unsigned, PrivateKey.generate_ed25519()))
    press(page, "Submit to the ledger")
    expect(step(page, "submit").locator(".notice.bad")).to_contain_text("INVALID_SIGNATURE")
    press(page, "Report the transaction")
    expect(step(page, "report")).to_contain_text("The ledger does not show it yet")
    page.look("listing-refused")


def test_a_service_that_is_gone_is_said(start):
    page = start(refusals=[0])
    page.route("**/v1/list/*", lambda route: route.abort())
    page.get_by_label("Price in HBAR").fill("250")
    press(page, "List for sale")
    said = page.locator("[data-trade] .notice.bad")
    expect(said).to_contain_text("Can't reach the market")


@on_two_screens
def test_a_wrong_field_is_the_sentence_of_the_api(start):
    page = start(refusals=[422, 409])
    page.get_by_label("Account", exact=True).fill("me")
    press(page, "Add")
    said = 'The account must be three integers joined by dots, such as 0.0.1234, or an EVM address, not "me"'
    expect(step(page, "add").locator(".notice.bad")).to_contain_text(said)
    expect(step(page, "prepare")).to_have_class(re.compile("locked"))
    page.get_by_label("Account", exact=True).fill("0.0.2002")
    press(page, "Add")
    expect_done(page, "add", "It is stored")
    page.get_by_label("Price in HBAR").fill("1.5")
    press(page, "Prepare the transaction")
    said = 'The price must be a whole number from 1 to 50,000,000,000, not "1.5"'
    expect(step(page, "prepare").locator(".notice.bad")).to_contain_text(said)
    page.look("listing-refused-price")


def test_a_step_is_locked_until_its_script_has_come(start):
    page = start()
    button = page.get_by_role("button", name="Add", exact=True)
    shown = []

    def answer(route):
        shown.append(button.is_visible())
        route.continue_()

    page.route("**/developer/steps.js", answer)
    page.reload()
    expect(button).to_be_enabled()
    assert shown == [False]


def test_what_is_sent_before_its_script_has_come_stays(visit):
    page = visit("/collections")
    held = []

    def hold_the_first(route):
        if held:
            route.continue_()
        held.append(route)

    page.route("**/listing.js", hold_the_first)
    serial_no = next(SERIALS)
    address = f"/list?account=0.0.2002&token=0.0.7007&serial_no={serial_no}"
    page.goto(page.site + address, wait_until="commit")
    page.get_by_label("Price in HBAR").fill("77")
    press(page, "List for sale")
    page.wait_for_url("**price=77**")
    expect(page.locator("input[name=serial_no]")).to_have_value(str(serial_no))
    expect(page.get_by_label("Price in HBAR")).to_have_value("77")
    expect(page.locator(".item .name")).to_have_text(f"0.0.7007 #{serial_no}")


def test_starting_over_takes_back_what_followed(start):
    page = start()
    prepare(page)
    page.get_by_label("Price in HBAR").fill("90")
    press(page, "Prepare the transaction")
    expect(page.locator("[data-transaction]")).to_contain_text("for 90 HBAR")
    press(page, "Add")
    expect(step(page, "look")).to_have_class(re.compile("locked"))


def test_the_code_to_copy_holds_the_listing(start):
    page = start()
    prepare(page)
    byte_array = page.locator("[data-transaction] code").inner_text()
    page.get_by_text("With code: wallets and SDKs").click()
    for snippet in page.locator(".snippet").all():
        snippet.locator("summary").click()
        assert byte_array in snippet.locator("code").inner_text()
        page.look("listing-code")


def test_the_largest_serial_number_stays_whole(start):
    page = start(serial_no=LAST_SERIAL)
    prepare(page)
    expect(page.locator("[data-transaction]")).to_contain_text(str(LAST_SERIAL))
    press(page, "Sign with the demo wallet")
    finish(page)
    link = step(page, "appear").locator(".card h2 a")
    expect(link).to_have_attribute("href", f"/nft/0.0.7007/{LAST_SERIAL}")


def test_an_expired_transaction_is_said_and_asked_for_again(start):
    page = start()
    page.clock.install()
    page.reload()
    prepare(page)
    first = page.locator("[data-transaction] code").inner_text()
    page.clock.fast_forward("03:01")
    expect(page.locator(".left")).to_have_text("expired: prepare it again")
    press(page, "Prepare a new one")
    expect(page.locator("[data-transaction] code")).not_to_have_text(first)
    expect(page.get_by_role("button", name="Prepare a new one")).to_have_count(0)
