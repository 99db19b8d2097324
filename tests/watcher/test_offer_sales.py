"""A sale by an offer is one write: nobody reads that one of offer and NFT is sold, and the other is not."""

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from marketplace.errors import LedgerAnswerInvalid
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market import reconciler
from marketplace.market.offers.reconciler import reconcile_offers
from marketplace.services import read
from marketplace.store.nfts import get_nft
from marketplace.store.offers import get_offer
from tests.actions import shown
from tests.engines import both_engines
from tests.offering import schedule, sign, state

pytestmark = both_engines

NFT, BEFORE, AFTER = NftId(TOKEN, 7), ("open", ALICE), ("executed", BOB)


@pytest.fixture
def accepted(app, ledger, nft, watcher, new_events):
    """An offer of Bob's that Alice has just accepted, of which nothing is stored yet."""
    schedule_id = schedule(app, ledger)
    watcher.follow()
    new_events()
    sign(ledger, schedule_id, ALICE)
    return schedule_id


@pytest.fixture
def stored(app, accepted):
    """What is stored of the offer, and the NFT's owner."""

    def stored():
        with app.app_context():
            return state(app, accepted), get_nft(read(), *NFT)["owner"]

    return stored


def look_at_nft(app):
    with app.app_context():
        reconciler.reconcile([NFT], Deadline(5))


def look_at_offer(app, schedule_id):
    with app.app_context():
        return reconcile_offers([schedule_id], Deadline(5))[schedule_id]


def test_the_offer_is_accepted_with_the_nft(app, accepted, stored, new_events):
    look_at_nft(app)
    assert stored() == AFTER
    look_at_offer(app, accepted)
    assert stored() == AFTER
    assert new_events() == [("SOLD", ALICE, BOB, 300, None)]


def test_both_looks_store_the_same_of_an_offer(app, accepted):
    def row():
        with app.app_context():
            return {**get_offer(read(), accepted)}

    before = row()
    look_at_nft(app)
    with_nft = row()
    sql = "UPDATE offer SET state = :state, state_at = :state_at WHERE schedule_id = :schedule_id"
    write_sql(app, sql, **before)
    assert row() == before
    look_at_offer(app, accepted)
    assert row() == with_nft != before


def test_the_nft_is_sold_with_the_offer(app, client, accepted, stored, new_events):
    assert look_at_offer(app, accepted).is_changed
    assert stored() == AFTER
    assert new_events() == [("SOLD", ALICE, BOB, 300, None)]
    assert shown(client)["owner"]["accountId"] == BOB


def test_a_report_of_an_acceptance_stores_the_offer_and_the_sale(client, accepted, stored):
    report = {"accountId": ALICE, "offerId": accepted}
    assert client.post("/v1/comingsoon", json=report).json == {"result": "OK"}
    assert stored() == AFTER


def test_an_older_replica_of_the_nft_holds_up_both(app, ledger, nft, watcher, mirror, new_events):
    schedule_id = schedule(app, ledger)
    watcher.follow()
    new_events()
    mirror.answer("/nfts/", mirror.replica())
    sign(ledger, schedule_id, ALICE)
    assert "before the sale" in look_at_offer(app, schedule_id).undecided
    assert (state(app, schedule_id), new_events()) == ("open", [])
    watcher.follow()
    assert (state(app, schedule_id), new_events()) == ("open", [])
    mirror.heal()
    watcher.recheck(seconds=10)
    assert (state(app, schedule_id), new_events()) == (
        "executed",
        [("SOLD", ALICE, BOB, 300, None)],
    )


def test_an_nft_that_cannot_be_read_holds_up_both(app, mirror, accepted, stored):
    mirror.alter("/nfts/7$", lambda nft: nft.update(serial_number="x"))
    with pytest.raises(LedgerAnswerInvalid):
        look_at_offer(app, accepted)
    assert stored() == BEFORE


def test_one_that_was_sold_on_ends_its_offer(app, ledger, accepted, stored):
    ledger.hand_over(NFT, CHARLIE)
    look_at_offer(app, accepted)
    assert stored() == ("executed", CHARLIE)
