"""The offers on the demo's pages, and nothing of them where they are off."""

import html
import re

import pytest

from harness.apps import authorized_client, settings, write_sql
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from harness.ledger import Ledger
from marketplace import create_app
from tests.actions import list_nft

NFT_PAGE = f"/demo/nft/{TOKEN}/7"
ITEM = f"nft={TOKEN}:7"
FRAGMENTS = ["offer", "offered", "unsigned", "acceptance", "accepted", "retraction", "retracted"]


@pytest.fixture
def offer_id(client, listed):
    body = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7, "offerPrice": 50}
    prepared = client.post("/v1/offer/extwallet", json=body).json
    offer_id = prepared["metadata"]["offerId"]
    Ledger(client.application).sign_and_submit(prepared["byteArray"], BOB)
    report = {"accountId": BOB, "offerId": offer_id}
    assert client.post("/v1/comingsoon", json=report).json == {"result": "OK"}
    return offer_id


def test_an_nft_shows_its_offers(client, offer_id):
    page = client.get(NFT_PAGE).text
    assert '<strong class="amount">50 HBAR</strong>' in page
    assert "in 7 days</time>" in page
    assert f'data-for="{ALICE}" hidden href="{NFT_PAGE}?offer={offer_id}#acceptance"' in page
    assert f'data-for="{BOB}" hidden href="{NFT_PAGE}?offer={offer_id}#retraction"' in page


def test_an_account_shows_what_it_made_and_received(app, client, offer_id):
    for account, title in ((ALICE, "received"), (BOB, "made")):
        page = client.get(f"/demo/account/{account}/offers").text
        assert page.count('<strong class="amount">50 HBAR</strong>') == 1
        assert f'id="{title}"' in page
    assert ">Covered</span>" in page
    write_sql(app, "UPDATE offer SET is_covered = 0")
    assert ">Not covered: the bidder has too little HBAR</span>" in client.get(NFT_PAGE).text
    assert client.get("/demo/account/x/offers").status_code == 422


def test_a_collection_shows_the_best_one_and_the_activity_each(client, offer_id):
    page = client.get(f"/demo/collection/{TOKEN}").text
    assert "<dt>Best offer</dt><dd>50 HBAR" in page
    page = client.get("/demo/activity?kind=offers").text
    assert re.search(
        'Offer of <strong class="amount">50 HBAR</strong> by <a [^>]*>0.0.1002</a> made', page
    )


def test_only_the_owner_accepts_and_only_the_bidder_withdraws(client, offer_id):
    for name, account in (("acceptance", ALICE), ("retraction", BOB)):
        address = f"/demo/trade/{name}?{ITEM}&offer={offer_id}"
        own = client.get(f"{address}&account={account}").text
        assert '<button class="button">' in own
        assert '<button class="button" disabled>' in client.get(f"{address}&account={CHARLIE}").text
        other = client.get(f"/demo/trade/{name}?{ITEM}&offer=0.0.1&account={account}").text
        assert "This offer is not open any more" in other
        assert "<button" not in other
    acceptance = client.get(f"/demo/trade/acceptance?{ITEM}&offer={offer_id}&account={ALICE}").text
    assert "&#34;expectedPrice&#34;: 50" in acceptance
    done = html.unescape(re.search(r'data-done="([^"]+)"', acceptance)[1])
    assert "You sold it for 50 HBAR." in client.get(done).text
    less = client.get(done.replace("received=5000000000", "received=4750000000")).text
    assert "for 50 HBAR, and received 47.5 HBAR after royalties" in less


def test_an_offer_that_is_not_signed_is_shown_to_its_bidder(client, listed):
    body = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7, "offerPrice": 50, "expiresIn": 60}
    offer_id = client.post("/v1/offer/extwallet", json=body).json["metadata"]["offerId"]
    address = f"/demo/trade/unsigned?offer=0.0.1&offer=x&offer={offer_id}&account="
    page = client.get(address + BOB).text
    assert page.count("<li") == 1
    assert "Not signed yet" in page
    assert f'href="{NFT_PAGE}?price=50&amp;days=60#offer"' in page
    assert f'href="{NFT_PAGE}?offer={offer_id}#retraction"' in page
    assert "<li" not in client.get(address + CHARLIE).text
    address = f"/demo/trade/retraction?{ITEM}&offer={offer_id}&account={BOB}"
    page = client.get(address).text
    assert '<button class="button">Cancel offer</button>' in page
    assert "data-signed" not in page
    done = html.unescape(re.search(r'data-done="([^"]+)"', page)[1])
    assert "Your offer is canceled" in client.get(done).text
    assert client.delete(f"/v1/offers/{offer_id}").status_code == 200
    assert "This offer is not open any more" in client.get(address).text


def test_nothing_is_offered_where_offers_are_off(tmp_path):
    client = authorized_client(create_app(OFFERS="off", **settings(tmp_path)), "read", "write")
    list_nft(client)
    for path in (NFT_PAGE, "/demo/activity", f"/demo/collection/{TOKEN}", f"/demo/account/{ALICE}"):
        r = client.get(path)
        assert r.status_code == 200
        assert "offer" not in r.text.lower(), path
    assert client.get(f"/demo/account/{ALICE}/offers").status_code == 404
    for name in FRAGMENTS:
        assert client.get(f"/demo/trade/{name}?{ITEM}").status_code == 404, name
