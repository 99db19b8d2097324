"""A shop on a stand-in for testnet: its visitors trade with their own wallet, whatever happens to it."""

import re
import socket
from contextlib import ExitStack
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from hiero_sdk_python import (
    AccountId,
    TokenFreezeTransaction,
    TokenGrantKycTransaction,
    TokenId,
    TokenPauseTransaction,
    TokenUnfreezeTransaction,
)
from playwright.sync_api import expect

from harness.postgresql import until
from harness.testnet import BUYER, OWNER, PRICE, Network, serve_market
from hiero_sandbox import relay, testing
from tests.system.browser.conftest import PHONE, on_screens
from tests.system.browser.own_wallet import needs_packages, open_wallet
from tests.system.browser.steps import press

EXPLORER = "https://explorer.example/testnet/transaction"
MINTED = 40
BUY = f"Buy for {PRICE} HBAR"

pytestmark = needs_packages


@pytest.fixture(scope="module")
def network():
    with testing.serving(*testing.ANY_PORTS) as sandbox:
        yield Network(sandbox, MINTED)


@pytest.fixture(scope="module")
def relay_url():
    listener = socket.create_server(("127.0.0.1", 0))
    relay.begin(listener)
    return f"ws://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(scope="module")
def shop(network, relay_url, tmp_path_factory):
    settings = {
        "STOREFRONT": "on",
        "WALLETCONNECT_PROJECT_ID": "shop",
        "WALLETCONNECT_RELAY_URL": relay_url,
        "EXPLORER_URL": EXPLORER,
        "STOREFRONT_WALLETS": "Own=https://own.example",
        "STOREFRONT_OPERATORS": OWNER,
    }
    with serve_market(network, tmp_path_factory.mktemp("shop"), **settings) as market:
        yield market


@pytest.fixture(scope="module")
def wallets(network, relay_url):
    """Wallets with the keys of accounts, each started once: wallets(BUYER)."""
    opened = {}
    with ExitStack() as stack:

        def wallet(account, **options):
            key = (account, *options.items())
            if key not in opened:
                private_key = network.keys[account].to_string_der()
                given = {"relayUrl": relay_url, "node": network.sandbox.node} | options
                one = open_wallet(account=account, privateKey=private_key, **given)
                opened[key] = stack.enter_context(one)
            return opened[key]

        yield wallet


@pytest.fixture
def site(shop):
    return shop.service.url


def read_pairing(page):
    """The address that the dialog shows as a QR code, too."""
    expect(page.get_by_role("img", name="QR code of the pairing")).to_be_visible()
    return page.locator("#wallet code", has_text="wc:").inner_text()


def connect(page, wallet):
    """By the button in the masthead."""
    press(page, "Connect wallet")
    wallet.say(read_pairing(page))
    expect(page.locator("#wallet")).to_contain_text("signs for")
    press(page, "Start trading")


def page_of(nft):
    return f"/nft/{nft['tokenId']}/{nft['serialNo']}"


def owner_of(shop, nft):
    return shop.get(page_of(nft)[1:])["owner"]["accountId"]


def test_a_first_visitor_buys_and_lists_what_was_bought(visit, shop, wallets):
    nft, own = shop.list_one(), wallets(BUYER)
    page = visit(page_of(nft))
    page.get_by_role("link", name="Buy now", exact=True).click()
    dialog = page.locator("#purchase")
    expect(dialog.locator(".shares tr").first).to_contain_text(f"pays {PRICE} HBAR")
    expect(dialog.get_by_role("row", name=f"Seller {OWNER} gets {PRICE} HBAR")).to_be_visible()
    press(dialog, "Connect wallet")
    expect(page.locator("#wallet")).to_contain_text("account on testnet")
    address = read_pairing(page)
    way = page.get_by_role("link", name="Open a wallet on this device")
    expect(way).to_have_attribute("href", address)
    app = page.locator("#wallet .apps a")  # which only a phone shows
    expect(app).to_have_attribute("href", f"https://own.example/wc?uri={quote(address, safe='')}")
    own.say(address)
    shown = page.locator("#wallet [data-wallet]")
    expect(shown).to_have_text(f"Test signs for {BUYER} (testnet).Start tradingDisconnect")
    press(page, "Start trading")
    press(dialog, BUY)
    assert own.read() == {"method": "hedera_signTransaction", "outcome": "signed"}
    expect(dialog.get_by_role("heading", name="You own")).to_be_visible()
    link = dialog.get_by_role("link", name="Transaction").get_attribute("href")
    assert re.fullmatch(rf"{EXPLORER}/0\.0\.1022-\d+-\d+", link)
    assert owner_of(shop, nft) == BUYER
    page.goto(shop.service.url + page_of(nft))
    page.get_by_role("link", name="List for sale").click()
    page.get_by_label("Price in HBAR").fill("70")
    press(page, "List for sale")
    assert own.read() == {"method": "hedera_signAndExecuteTransaction", "outcome": "signed"}
    expect(page.get_by_role("heading", name="is for sale")).to_be_visible()
    assert shop.get(page_of(nft)[1:])["listingPrice"] == 70


@pytest.fixture
def buying(visit, shop):
    """The dialog of a purchase, opened by the owner of a connected wallet."""

    def buying(wallet, **options):
        nft = shop.list_one()
        page = visit(page_of(nft), **options)
        connect(page, wallet)
        page.get_by_role("link", name="Buy now", exact=True).click()
        page.nft, page.dialog = nft, page.locator("#purchase")
        expect(page.dialog.get_by_role("button", name=BUY)).to_be_enabled()
        return page

    return buying


def said(page):
    return page.locator("#wallet [data-outcome]")


def test_a_wallet_on_another_network(visit, wallets):
    page = visit()
    press(page, "Connect wallet")
    wallets(BUYER, chain="hedera:mainnet").say(read_pairing(page))
    expect(said(page)).to_contain_text("no account on testnet. Change its network")
    page.look("shop-other-network", full=False)
    press(page, "Try again")
    read_pairing(page)


def test_a_refused_pairing_and_one_in_a_dialog_that_was_closed(visit, wallets):
    page, own = visit(), wallets(BUYER)
    press(page, "Connect wallet")
    own.say("refuse-pairing")
    own.say(read_pairing(page))
    expect(said(page)).to_contain_text("You declined it in your wallet.")
    press(page, "Try again")
    left = read_pairing(page)
    page.locator("#wallet").get_by_role("button", name="Close").click()
    press(page, "Connect wallet")
    address = read_pairing(page)
    assert address != left
    own.say(address)
    expect(page.locator("#wallet")).to_contain_text("signs for")
    page.look("shop-connected", full=False)


def test_a_refused_signature(buying, shop, wallets):
    own = wallets(BUYER)
    page = buying(own)
    own.say("refuse")
    press(page.dialog, BUY)
    assert own.read()["outcome"] == "User rejected."
    expect(page.dialog.locator("[data-outcome]")).to_have_text("You declined it in your wallet.")
    press(page.dialog, BUY)
    assert own.read()["outcome"] == "signed"
    expect(page.dialog.get_by_role("heading", name="You own")).to_be_visible()


def test_a_wallet_that_does_not_answer(buying, shop, wallets):
    page = buying(wallets(BUYER, waitSeconds=600))
    wallets(BUYER, waitSeconds=600).say("wait")
    press(page.dialog, BUY)
    expect(page.dialog.locator("[data-progress]")).to_contain_text("Sign it in your wallet")
    page.look("shop-signing", full=False)
    press(page.dialog, "Cancel")
    expect(page.dialog.locator("[data-outcome]")).to_contain_text("You stopped waiting.")
    wallets(BUYER, waitSeconds=600).say("wait")
    page.clock.install()
    press(page.dialog, BUY)
    expect(page.dialog.locator("[data-progress]")).to_contain_text("Sign it in your wallet")
    page.clock.fast_forward("05:01")
    expect(page.dialog.locator("[data-outcome]")).to_contain_text("hasn't answered in time")
    expect(page.dialog.get_by_role("button", name=BUY)).to_be_enabled()
    assert owner_of(shop, page.nft) == OWNER


def test_no_relay(visit, shop, relay_url):
    page, is_away = visit(), True

    def open_socket(socket):
        if is_away:
            socket.close()
        else:
            socket.connect_to_server()

    page.route_web_socket(re.compile(relay_url), open_socket)
    press(page, "Connect wallet")
    expect(said(page)).to_contain_text("Can't reach the relay")
    is_away = False
    press(page, "Try again")
    read_pairing(page)


def test_another_account_than_the_owners(visit, shop, wallets):
    nft, page = shop.list_one(), visit()
    connect(page, wallets(BUYER))
    page.goto(f"{shop.service.url}/list?token={nft['tokenId']}&serial_no={nft['serialNo']}")
    expect(page.locator("#listing")).to_contain_text(f"Only {OWNER} can list it. It isn't yours.")
    expect(page.get_by_role("button", name="List for sale")).to_be_disabled()


def test_two_tabs(buying, shop, wallets):
    own = wallets(BUYER)
    page = buying(own)
    other = page.context.new_page()
    other.goto(shop.service.url + page_of(page.nft) + "#purchase")
    expect(other.locator("#visitor")).to_contain_text(BUYER)
    press(other.locator("#purchase"), BUY)
    assert own.read()["outcome"] == "signed"
    expect(other.get_by_role("heading", name="You own")).to_be_visible()
    page.dialog.get_by_role("button", name="Close").click()
    page.locator("#visitor").click()
    page.look("shop-menu", full=False)
    press(page, "Wallet")
    press(page, "Disconnect")
    for tab in (page, other):
        expect(tab.locator("#visitor")).to_contain_text("Connect wallet")


def test_a_reload_after_the_wallet_signed(buying, shop, wallets):
    own, held = wallets(BUYER), []
    page = buying(own)
    page.route("**/v1/comingsoon", lambda route: held.append(route))
    press(page.dialog, BUY)
    assert own.read()["outcome"] == "signed"
    until(lambda: page.wait_for_timeout(20) or held, "nothing is handed in")
    page.unroute("**/v1/comingsoon")
    page.reload()
    expect(page.locator(".toast")).to_contain_text("Your purchase is confirmed")
    assert owner_of(shop, page.nft) == BUYER


def test_a_session_that_the_wallet_ended(buying, shop, wallets):
    own = wallets(BUYER)
    page = buying(own)
    own.say("end")
    expect(page.dialog.get_by_role("button", name="Connect wallet")).to_be_visible()
    press(page.dialog, "Connect wallet")
    own.say(read_pairing(page))
    press(page, "Start trading")
    page.reload()  # without a link to the relay
    expect(page.dialog.get_by_role("button", name=BUY)).to_be_enabled()
    own.say("end")
    press(page.dialog, BUY)
    expect(page.dialog.locator("[data-outcome]")).to_contain_text("Your wallet has disconnected")
    expect(page.dialog.get_by_role("button", name="Connect wallet")).to_be_visible()


# Every other trade


def signs(wallet):
    return wallet.read()["outcome"] == "signed"


def test_a_seller_lists_several_and_changes_and_cancels_one(visit, shop, network, wallets):
    own, page = wallets(OWNER), visit()
    first, second = next(network.serial_nos), next(network.serial_nos)
    connect(page, own)
    page.goto(f"{shop.service.url}/list")
    page.get_by_label("Token").fill(network.token)
    page.get_by_label("Serial number").fill(f"{first},{second}")
    page.get_by_label("Price in HBAR").fill("40")
    page.get_by_role("button", name="List").click()
    assert signs(own)
    expect(page.get_by_role("heading", name="are for sale")).to_be_visible()
    page.goto(f"{shop.service.url}/nft/{network.token}/{first}")
    page.get_by_role("link", name="Change price").click()
    page.get_by_label("Price in HBAR").fill("45")
    press(page, "Change the price")
    assert signs(own)
    expect(page.locator("[data-trade]")).to_contain_text("Price: 45 HBAR")
    page.goto(f"{shop.service.url}/nft/{network.token}/{first}")
    page.get_by_role("link", name="Cancel listing").click()
    press(page.locator("#withdrawal"), "Cancel listing")
    assert signs(own)
    expect(page.get_by_role("heading", name="is no longer for sale")).to_be_visible()
    prices = [shop.get(f"nft/{network.token}/{n}")["listingPrice"] for n in (first, second)]
    assert prices == [0, 40]


def test_a_buyer_sweeps_the_floor(visit, shop, network, wallets):
    """The basket that it fills is what is bought."""
    own, page = wallets(BUYER), visit()
    for _ in range(2):
        shop.list_one()
    connect(page, own)
    page.goto(f"{shop.service.url}/collection/{network.token}")
    press(page, "Sweep the floor")
    page.get_by_role("link", name="Sweep the floor").click()
    page.locator("#purchase").get_by_role("button", name="Buy").click()
    assert signs(own)
    expect(page.get_by_role("heading", name="You own")).to_be_visible()
    bought = parse_qs(urlsplit(page.url).query)["nft"]
    assert len(bought) >= 2
    for token, serial_no, _ in (item.split(":") for item in bought):
        assert owner_of(shop, {"tokenId": token, "serialNo": serial_no}) == BUYER


def test_offers_are_made_withdrawn_and_accepted(visit, shop, wallets):
    own, page = wallets(BUYER), visit()
    nft = shop.list_one()
    connect(page, own)
    page.goto(shop.service.url + page_of(nft) + "#offer")
    dialog = page.locator("#offer")
    for price in (30, 35):
        dialog.get_by_label("Price in HBAR").fill(str(price))
        press(dialog, "Make an offer")
        assert signs(own)
        expect(dialog.get_by_role("heading", name=f"offer of {price} HBAR is open")).to_be_visible()
        press(dialog, "View")
        if price == 30:
            page.locator("#offers").get_by_role("link", name="Withdraw").click()
            press(page.locator("#retraction"), "Withdraw offer")
            assert signs(own)
            expect(page.get_by_role("heading", name="The offer is withdrawn")).to_be_visible()
            page.goto(shop.service.url + page_of(nft) + "#offer")
    seller, theirs = visit(), wallets(OWNER)
    connect(seller, theirs)
    seller.goto(shop.service.url + page_of(nft))
    seller.locator("#offers").get_by_role("link", name="Accept offer").click()
    press(seller.locator("#acceptance"), "Accept offer of 35 HBAR")
    assert signs(theirs)
    expect(seller.get_by_role("heading", name="You sold")).to_be_visible()
    assert owner_of(shop, nft) == BUYER


def test_a_buyer_associates_the_collection_first(visit, shop, wallets):
    nft, own = shop.list_one(), wallets("0.0.1025")
    page = visit(page_of(nft), refusals=[409])
    connect(page, own)
    page.get_by_role("link", name="Buy now", exact=True).click()
    dialog = page.locator("#purchase")
    press(dialog, BUY)
    expect(dialog).to_contain_text("is not associated with")
    page.look("shop-associate", full=False)
    # What the mirror node shows as long as it lags behind
    said = {"code": 409, "reason": "BUYER_NOT_ASSOCIATED", "message": "not yet"}
    page.route("**/v1/buy/*", lambda route: route.fulfill(status=409, json=said))
    press(dialog, "Associate it, for about $0.05")
    assert signs(own)
    press(dialog, "Cancel")
    expect(dialog).to_contain_text("You stopped waiting.")
    page.unroute("**/v1/buy/*")
    press(dialog, BUY)
    assert signs(own)
    expect(dialog.get_by_role("heading", name="You own")).to_be_visible()
    assert owner_of(shop, nft) == "0.0.1025"


def test_too_little_hbar_is_said_before_the_wallet_opens(visit, shop, wallets):
    nft = shop.list_one()
    page = visit(page_of(nft), refusals=[409])
    connect(page, wallets(BUYER))
    page.get_by_role("link", name="Make an offer").click()
    dialog = page.locator("#offer")
    dialog.get_by_label("Price in HBAR").fill("30000")
    press(dialog, "Make an offer")
    expect(dialog).to_contain_text("HBAR, and the price is 30,000 HBAR")
    expect(dialog.get_by_label("Price in HBAR")).to_have_value("30000")


# What others do meanwhile, each said before the wallet opens


def test_what_the_issuer_forbids_is_said(visit, shop, network, wallets):
    keys = ("pause_key", "freeze_key", "kyc_key")
    token = network.create("Guarded", 10, **dict.fromkeys(keys))
    buyer, id = AccountId.from_string(BUYER), TokenId.from_string(token)
    network.let_hold(BUYER, token)
    nft = shop.list_one({"tokenId": token, "serialNo": 1})
    page = visit(page_of(nft) + "#purchase", refusals=[409])
    connect_in(page.locator("#purchase"), page, wallets(BUYER))
    dialog = page.locator("#purchase")

    def expect_said(words):
        press(dialog, BUY)
        expect(dialog.locator("[data-outcome]")).to_contain_text(words)

    expect_said(f"{BUYER} lacks the issuer's KYC for {token}")
    network.execute(OWNER, TokenGrantKycTransaction(id, buyer))
    network.execute(OWNER, TokenFreezeTransaction(id, buyer))
    expect_said(f"{BUYER} is frozen for {token} by its issuer")
    network.execute(OWNER, TokenUnfreezeTransaction(account_id=buyer, token_id=id))
    network.execute(OWNER, TokenPauseTransaction(id))
    expect_said(f"{token} is paused by its issuer")
    page.look("shop-paused", full=False)


def connect_in(place, page, wallet):
    """By the button of a dialog."""
    press(place, "Connect wallet")
    wallet.say(read_pairing(page))
    press(page, "Start trading")


def test_what_changes_while_the_dialog_is_open_is_said(buying, shop, network, wallets):
    own = wallets(BUYER)
    page = buying(own, refusals=[409, 451])
    alert = page.dialog.get_by_role("alert")
    shop.list_one(page.nft, 60)
    press(page.dialog, BUY)
    expect(alert).to_contain_text("Price changed: 50 → 60 HBAR")
    page.look("shop-price-changed", full=False)
    press(page.dialog, "Accept new price")
    shop.list_one(page.nft, 30_000)
    press(page.dialog, "Buy for 60 HBAR")
    press(page.dialog, "Accept new price")
    press(page.dialog, "Buy for 30,000 HBAR")
    expect(page.dialog.locator("[data-outcome]")).to_contain_text("the price is 30,000 HBAR")
    shop.list_one(page.nft)
    press(page.dialog, "Buy for 30,000 HBAR")
    press(page.dialog, "Accept new price")
    expect(page.dialog.get_by_role("button", name=BUY)).to_be_enabled()
    rival = "0.0.1026"
    network.let_hold(rival, network.token)
    shop.settle(shop.prepare(page.nft, rival))
    press(page.dialog, BUY)
    expect(alert).to_contain_text("Someone else bought it")
    assert owner_of(shop, page.nft) == rival


def test_what_the_operator_hides_or_blocks_is_said(buying, shop, wallets):
    page = buying(wallets(BUYER), refusals=[403, 409, 451])
    id = f"{page.nft['tokenId']}:{page.nft['serialNo']}"
    said = page.dialog.locator("[data-outcome]")
    shop.service.flask("hide", id, "--reason", "stolen")
    press(page.dialog, BUY)
    expect(said).to_contain_text("hidden")
    expect(page.dialog).to_contain_text("Not for sale here")
    shop.service.flask("unhide", id)
    page.reload()
    shop.service.flask("block", BUYER, "--reason", "stolen")
    press(page.dialog, BUY)
    expect(said).to_contain_text("blocked")
    shop.service.flask("unblock", BUYER)


def test_a_reload_while_the_wallet_asks(buying, shop, wallets):
    patient = wallets(BUYER, waitSeconds=600)
    page = buying(patient)
    patient.say("wait")
    press(page.dialog, BUY)
    expect(page.dialog.locator("[data-progress]")).to_contain_text("Sign it in your wallet")
    page.reload()
    expect(page.locator(".toast")).to_contain_text("Nothing was bought")
    expect(page.dialog.get_by_role("button", name=BUY)).to_be_enabled()
    assert owner_of(shop, page.nft) == OWNER


@on_screens((PHONE, "dark"))
def test_an_operator_signs_in_and_hides_an_nft(visit, shop, wallets):
    nft, own = shop.list_one(), wallets(OWNER)
    page = visit("/console", refusals=[403, 451])
    connect(page, own)
    expect(page.get_by_label("Operator's account")).to_have_value(OWNER)
    press(page, "Continue")
    page.look("console-sign-in")
    press(page, "Sign in your wallet")
    assert own.read() == {"method": "hedera_signMessage", "outcome": "signed"}
    expect(page.locator("main")).to_contain_text("Newest decisions")
    page.goto(shop.service.url + page_of(nft))
    page.get_by_role("link", name="Moderate").click()
    page.get_by_label("Why").fill("Reported stolen")
    page.look("console-nft")
    press(page, "Hide")
    expect(page.get_by_role("button", name="Show again")).to_be_visible()
    page.get_by_role("link", name="Console").click()
    expect(page.locator(".decisions")).to_contain_text(f"Reported stolen just now, by {OWNER}")
    assert shop.call(page_of(nft)[1:])[0] == 451
    press(page, "Sign out")
    expect(page.get_by_label("Operator's account")).to_be_visible()
