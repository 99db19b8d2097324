"""A wallet of one's own: paired by the page over the relay, it signs what the demo's visitor trades."""

import json

import pytest
from playwright.sync_api import expect

from harness.desk import serve_desk
from tests.system.browser.conftest import on_two_screens
from tests.system.browser.own_wallet import needs_packages, open_wallet
from tests.system.browser.steps import press
from tests.system.browser.trader import Trader

OWN = "0.0.4242"
EXTENSIONS = """addEventListener("message", ({ data }) => {
  if (data.type !== "hedera-extension-query") return;
  const many = Array.from({ length: 100 }, (_, i) => ({ id: `x${i}`, name: "x".repeat(9999) }));
  const html = [{ id: "good", name: "<img src=x onerror=alert(1)>" }, { id: "<b>" }];
  for (const metadata of [...html, { name: 7 }, null, ...many])
    postMessage({ type: "hedera-extension-response", metadata });
})"""
TOKEN = "0.0.7007"

pytestmark = needs_packages


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """What make run serves, with a relay, and without a sample."""
    with serve_desk(tmp_path_factory.mktemp("desk")) as service:
        yield service


@pytest.fixture
def site(desk):
    return desk.url


def wallet(desk, account=OWN, **options):
    return open_wallet(relayUrl=desk.relay, node=desk.node, account=account, **options)


def connect(page, own, place="#accounts"):
    if place == "#accounts":
        page.locator("#visitor").click()
    press(page.locator(place), "Connect a wallet")
    address = page.locator("#wallet code", has_text="wc:")
    expect(page.get_by_role("img", name="QR code of the pairing")).to_be_visible()
    own.say(address.inner_text())
    expect(page.locator("#wallet")).to_contain_text("signs for")


def list_one(page, desk, account, serial_no):
    page.goto(f"{desk.url}/list?account={account}&token={TOKEN}&serial_no={serial_no}&price=25")
    page.get_by_role("button", name="List for sale", exact=True).click()


@on_two_screens
def test_it_is_connected_and_signs_a_listing(visit, desk, screen):
    account = f"0.0.{4300 + screen[0][0]}"
    with wallet(desk, account) as own:
        page = visit()
        connect(page, own)
        page.look("wallet-connected", full=False)
        press(page, "Start trading")
        expect(page.locator("#visitor")).to_contain_text(account)
        list_one(page, desk, account, screen[0][0])
        assert own.read() == {"method": "hedera_signAndExecuteTransaction", "outcome": "signed"}
        expect(page.get_by_role("link", name="All for sale")).to_be_visible()
        nft = desk.call(f"/v1/nft/{TOKEN}/{screen[0][0]}")
        assert (nft["isForSale"], nft["owner"]["accountId"]) == (True, account)


@pytest.mark.parametrize("key_type", ["ED25519", "ECDSA"])
def test_it_signs_a_purchase_which_the_marketplace_submits(visit, desk, key_type):
    serial_no, account = {"ED25519": (1, "0.0.4501"), "ECDSA": (2, "0.0.4502")}[key_type]
    Trader(desk).list((TOKEN, serial_no), "0.0.1004", 30)
    with wallet(desk, account, keyType=key_type) as own:
        page = visit()
        connect(page, own)
        page.goto(f"{desk.url}/nft/{TOKEN}/{serial_no}#purchase")
        page.locator("#purchase").get_by_role("button", name="Buy").click()
        assert own.read() == {"method": "hedera_signTransaction", "outcome": "signed"}
        expect(page.locator("#purchase")).to_contain_text("You own")
        nft = desk.call(f"/v1/nft/{TOKEN}/{serial_no}")
        assert nft["owner"]["accountId"] == account


def test_it_makes_an_offer_and_accepts_another(visit, desk):
    trader = Trader(desk)
    trader.list((TOKEN, 5), "0.0.1004", 90)
    with wallet(desk, "0.0.4511") as own:
        page = visit()
        connect(page, own)
        press(page, "Create my account")
        assert own.read()["outcome"] == "signed"
        expect(page.locator("#wallet")).to_contain_text("has your wallet's key")
        page.goto(f"{desk.url}/nft/{TOKEN}/5#offer")
        dialog = page.locator("#offer")
        dialog.get_by_label("Price in HBAR").fill("50")
        press(dialog, "Make an offer")
        assert own.read() == {"method": "hedera_signAndExecuteTransaction", "outcome": "signed"}
        expect(dialog.get_by_role("heading", name="is open")).to_be_visible()
        list_one(page, desk, "0.0.4511", 6)
        assert own.read()["outcome"] == "signed"
        expect(page.get_by_role("link", name="All for sale")).to_be_visible()
        trader.offer((TOKEN, 6), "0.0.1005", 20)
        page.goto(f"{desk.url}/nft/{TOKEN}/6")
        page.locator("#offers").get_by_role("link", name="Accept offer").click()
        press(page.locator("#acceptance"), "Accept offer of 20 HBAR")
        assert own.read() == {"method": "hedera_signAndExecuteTransaction", "outcome": "signed"}
        expect(page.locator("#acceptance").get_by_role("heading", name="You sold")).to_be_visible()
        assert desk.call(f"/v1/nft/{TOKEN}/6")["owner"]["accountId"] == "0.0.1005"


def test_what_an_extension_says_is_text(visit, desk):
    page = visit()
    page.evaluate(EXTENSIONS)
    page.locator("#visitor").click()
    press(page, "Connect a wallet")
    expect(page.locator("#wallet [data-wallet]")).not_to_contain_text("false")
    offered = page.locator("#wallet [data-wallet] .row button")
    expect(offered.first).to_have_text("<img src=x onerror=alert(1)>")
    expect(offered).to_have_count(20)
    assert {len(text) for text in offered.all_inner_texts()} == {28, 40}
    page.evaluate("""() => { window.asked = new Promise((resolve) => addEventListener("message",
      ({ data }) => data.type === "hedera-extension-connect-good" && resolve(data.pairingString))); }""")
    offered.first.click()
    assert page.evaluate("asked").startswith("wc:")


def test_what_its_user_refuses_is_said_and_nothing_is_lost(visit, desk):
    with wallet(desk, "0.0.4601") as own:
        page = visit()
        connect(page, own)
        own.say("refuse")
        list_one(page, desk, "0.0.4601", 3)
        assert own.read()["outcome"] == "User rejected."
        expect(page.locator("main")).to_contain_text("You declined it in your wallet.")
        own.say("sign")
        page.get_by_role("button", name="List for sale", exact=True).click()
        assert own.read()["outcome"] == "signed"
        expect(page.get_by_role("link", name="All for sale")).to_be_visible()


def test_the_page_shows_what_went_over_the_relay(visit, desk):
    with wallet(desk, "0.0.4701") as own:
        page = visit()
        connect(page, own)
        page.locator("#wallet summary", has_text="What goes over the relay").click()
        expect(page.locator("#wallet .exchange").first).to_contain_text("wc_sessionPropose")
        press(page, "Disconnect")
        page.locator("#visitor").click()
        press(page, "Connect a wallet")
        expect(page.get_by_role("img", name="QR code of the pairing")).to_be_visible()


def take_step(page, own, step):
    """Do in the wallet what the check says."""
    asked = page.locator(f"[data-step] [data-kind={step}]")
    expect(asked).to_be_visible()
    if step == "refuse":
        page.look("wallet-check-half")
    own.say(step)
    asked.get_by_role("button").first.click()


def results(page):
    return dict(
        page.locator(".checks > li").evaluate_all(
            "all => all.map((one) => [one.id, one.dataset.result])"
        )
    )


@on_two_screens
def test_the_check_asks_a_wallet_for_all_that_a_market_needs(visit, desk, screen):
    with wallet(desk, f"0.0.{4800 + screen[0][0]}", waitSeconds=1) as own:
        page = visit("/demo/wallet")
        connect(page, own, "main")
        press(page, "Go on")
        press(page, "Run the check")
        for step in ("question", "refuse", "close", "wait"):
            take_step(page, own, step)
        expect(page.get_by_role("heading", name="Report")).to_be_visible()
        rows = results(page)
        assert {row for row, result in rows.items() if result != "right"} == {"check-ecdsa"}
        report = json.loads(page.locator("[data-report] code").last.text_content())
        assert report["summary"] == {"right": len(rows) - 1, "wrong": 0, "notTried": 1, "failed": 0}
        page.look("wallet-check-end")


def test_the_check_shows_invalid_answers_as_text(visit, desk):
    with wallet(desk, "0.0.4802") as own:
        page = visit("/demo/wallet")
        connect(page, own, "main")
        press(page, "Go on")
        own.say("invalid")
        press(page, "Run the check")
        for _ in range(3):
            press(page, "Skip this step")
        expect(page.get_by_role("heading", name="Report")).to_be_visible()
        expect(page.locator("#check-list")).to_contain_text("<img src=x")
        # WalletConnect's library itself refuses another network.
        right = {row for row, result in results(page).items() if result == "right"}
        assert right <= {"check-network"}
        assert page.locator(".checks img").count() == 0
