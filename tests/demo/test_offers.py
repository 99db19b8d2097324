"""The offers on the demo's pages."""

import html
import re

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from harness.ledger import Ledger
from tests.actions import SALE, tell

NFT_PAGE = f"/nft/{TOKEN}/7"
ITEM = f"nft={TOKEN}:7"


@pytest.fixture
def offer_id(client, listed):
    body = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7, "offerPrice": 50}
    prepared = client.post("/v1/offer/extwallet", json=body).json
    Ledger(client.application).sign_and_submit(prepared["byteArray"], BOB)
    report = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7}
    return client.post("/v1/comingsoon", json=report).json["offerId"]


def test_an_nft_shows_its_offers(client, offer_id):
    page = client.get(NFT_PAGE).text
    assert '<strong class="amount">50 HBAR</strong>' in page
    assert "in 7 days</time>" in page
    assert f'data-for="{ALICE}" hidden href="{NFT_PAGE}?offer={offer_id}#acceptance"' in page
    assert f'data-for="{BOB}" hidden href="{NFT_PAGE}?offer={offer_id}#retraction"' in page


def test_an_account_shows_what_it_made_and_received(app, client, offer_id):
    for account, title in ((ALICE, "received"), (BOB, "made")):
        page = client.get(f"/account/{account}/offers").text
        assert page.count('<strong class="amount">50 HBAR</strong>') == 1
        assert f'id="{title}"' in page
    assert ">Covered</span>" in page
    write_sql(app, "UPDATE offer SET is_covered = 0")
    own = client.get(f"/account/{BOB}/offers").text
    assert ">Not covered: the bidder has too little HBAR</span>" in own
    assert "No open offers." in client.get(NFT_PAGE).text
    write_sql(app, "UPDATE offer SET state = 'expired'")
    assert "Ended offers" in client.get(f"/account/{BOB}/offers").text
    assert client.get("/account/x/offers").status_code == 422


def test_a_collection_shows_the_best_offer_and_the_activity_every_offer(client, offer_id):
    page = client.get(f"/collection/{TOKEN}").text
    assert "<dt>Best offer</dt><dd>50 HBAR" in page
    page = client.get("/activity?kind=offers").text
    assert re.search(
        'Offer of <strong class="amount">50 HBAR</strong> by <a [^>]*>0.0.1002</a> made', page
    )


def test_only_the_owner_accepts_and_only_bidder_and_owner_end_it(client, offer_id):
    for name, account in (("acceptance", ALICE), ("retraction", BOB), ("retraction", ALICE)):
        address = f"/trade/{name}?{ITEM}&offer={offer_id}"
        own = client.get(f"{address}&account={account}").text
        assert '<button class="button">' in own
        assert '<button class="button" disabled>' in client.get(f"{address}&account={CHARLIE}").text
        other = client.get(f"/trade/{name}?{ITEM}&offer=0.0.1&account={account}").text
        assert "This offer is not open any more" in other
        assert "<button" not in other
    acceptance = client.get(f"/trade/acceptance?{ITEM}&offer={offer_id}&account={ALICE}").text
    assert "&#34;expectedPrice&#34;: 50" in acceptance
    done = html.unescape(re.search(r'data-done="([^"]+)"', acceptance)[1])
    assert "You sold it for 50 HBAR." in client.get(done).text
    less = client.get(done.replace("received=5000000000", "received=4750000000")).text
    assert "for 50 HBAR, and received 47.5 HBAR after royalties" in less


def test_an_acceptance_that_executed_nothing_is_shown_to_the_owner(app, client, offer_id):
    event = SALE | {"kind": "OFFER_NOT_EXECUTED", "price": 50, "offer_id": offer_id}
    tell(app, event)
    write_sql(app, "UPDATE offer SET state = 'closed', accepted_at = created_at")
    for path in (NFT_PAGE, f"/account/{ALICE}/offers"):
        page = client.get(path).text
        assert "but nothing was sold: the bidder's account has another key" in html.unescape(page)
        assert f'data-for="{ALICE}" hidden href="{NFT_PAGE}?offer={offer_id}#retraction"' in page
    address = f"/trade/retraction?{ITEM}&offer={offer_id}&account={ALICE}"
    assert "Take the acceptance back" in client.get(address).text
    write_sql(app, "UPDATE offer SET state = 'withdrawn', accepted_at = NULL")
    assert "nothing was sold: the" not in client.get(NFT_PAGE).text
