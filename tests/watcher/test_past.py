"""What happened to an NFT between two looks is recorded in full, with its own transactions and dates."""

import pytest
from werkzeug.wrappers import Response

from harness import wallets
from harness.cast import ALICE, BOB, CHARLIE, KEYS, MARKET, TOKEN
from marketplace.hedera import times
from marketplace.market.memos import listing_memo
from tests.actions import buy_unseen, shown
from tests.answers import assert_error
from tests.engines import both_engines
from tests.watcher.conftest import list_after, newest

TREASURY = "0.0.1000"


@pytest.fixture
def listed(nft, lister, new_events):
    """The NFT, listed for 250 HBAR; its events so far are read."""
    lister(nft, 250, add=False)
    new_events()
    return nft


@pytest.fixture
def unlisted(nft, new_events):
    new_events()
    return nft


def sign_and_submit(ledger, body, payer):
    assert ledger.submit(ledger.sign_bytes(wallets.seal(body), payer)).result == "SUCCESS"


def update_metadata(ledger, nft, count=1):
    with ledger.sandbox.app_context():
        for _ in range(count):
            assert wallets.update_metadata(*nft, times.now()).result == "SUCCESS"


def burn(ledger, nft):
    body = wallets.new_body(TREASURY, "")
    body.tokenBurn.token.CopyFrom(wallets.token_id(nft))
    body.tokenBurn.serialNumbers.append(nft[1])
    sign_and_submit(ledger, body, TREASURY)


def wipe(ledger, nft, owner):
    with ledger.sandbox.app_context():
        assert wallets.wipe_nft(nft, owner, times.now()).result == "SUCCESS"


def move_elsewhere(ledger, nft, sender, receiver):
    """A sale on another market, which the sender had approved."""
    ledger.approve(nft, sender, CHARLIE)
    body = wallets.new_body(CHARLIE, "")
    moved = body.cryptoTransfer.tokenTransfers.add(token=wallets.token_id(nft))
    accounts = {
        "senderAccountID": wallets.account(sender),
        "receiverAccountID": wallets.account(receiver),
    }
    moved.nftTransfers.add(serialNumber=nft[1], is_approval=True, **accounts)
    sign_and_submit(ledger, body, CHARLIE)


# Burned NFTs


@both_engines
def test_it_records_who_burned_a_returned_nft(client, unlisted, ledger, watcher, new_events):
    ledger.hand_over(unlisted, TREASURY)
    burn(ledger, unlisted)
    watcher.follow()
    assert new_events() == [
        ("TRANSFERRED", ALICE, TREASURY, None, None),
        ("BURNED", TREASURY, None, None, None),
    ]
    assert shown(client)["owner"] == {"accountId": TREASURY}


def test_a_sale_before_a_burn_is_recorded_though_the_history_is_late(
    client, listed, ledger, buy, watcher, mirror, new_events
):
    buy_unseen(client, buy())
    replica = mirror.replica()
    wipe(ledger, listed, BOB)
    mirror.answer("/nfts/7/transactions", replica)
    watcher.follow()
    assert new_events() == []
    mirror.heal()
    watcher.recheck(60)
    assert new_events() == [("SOLD", ALICE, BOB, 250, 250), ("BURNED", BOB, None, None, None)]


def delete_token(ledger, get):
    """Delete the NFT's token. Returns the transaction, and its date."""
    deletion = ledger.delete_token()
    token = get(f"/sandbox/api/v1/tokens/{TOKEN}").json
    return deletion.transaction_id, times.to_iso(times.from_consensus(token["modified_timestamp"]))


def test_it_records_the_deletion_of_a_token_with_its_date(
    app, client, listed, ledger, watcher, new_events
):
    ended = delete_token(ledger, client.get)
    watcher.follow()
    assert new_events() == [("BURNED", ALICE, None, None, 250)]
    assert (newest(app)["transaction_id"], newest(app)["consensus_at"]) == ended


def test_a_gift_before_the_deletion_of_the_token_is_recorded(
    app, client, listed, ledger, watcher, new_events
):
    ledger.hand_over(listed, BOB)
    ended = delete_token(ledger, client.get)
    watcher.follow()
    assert new_events() == [
        ("TRANSFERRED", ALICE, BOB, None, 250),
        ("BURNED", BOB, None, None, None),
    ]
    assert (newest(app)["transaction_id"], newest(app)["consensus_at"]) == ended


@pytest.mark.parametrize("late", ["/nfts/7/transactions", f"/nfts/7/transactions|/{TOKEN}$"])
def test_the_deletion_of_a_token_is_recorded_though_the_history_is_late(
    app, client, listed, ledger, watcher, mirror, new_events, late
):
    replica = mirror.replica()
    ended = delete_token(ledger, client.get)
    mirror.answer(late, replica)
    watcher.follow()
    assert new_events() == []
    mirror.heal()
    watcher.recheck(60)
    assert new_events() == [("BURNED", ALICE, None, None, 250)]
    assert (newest(app)["transaction_id"], newest(app)["consensus_at"]) == ended


def test_a_history_that_never_shows_the_deletion_of_a_token_holds_up_nothing_for_long(
    app, listed, ledger, watcher, mirror, new_events, monkeypatch
):
    ledger.delete_token()
    mirror.alter("/nfts/7/transactions", lambda document: document["transactions"].pop(0))
    monkeypatch.setattr(times, "ALLOWED_LAG", -times.MINUTE)  # it was long ago
    watcher.follow()
    assert new_events() == [("BURNED", ALICE, None, None, 250)]
    assert newest(app)["transaction_id"] is None


# The end of a listing


@pytest.mark.parametrize("is_approved_elsewhere", [True, False])
def test_a_withdrawal_names_the_owners_transaction_and_no_update_after_it(
    app, listed, ledger, watcher, new_events, is_approved_elsewhere
):
    if is_approved_elsewhere:
        ledger.approve(listed, ALICE, CHARLIE)
    else:
        ledger.withdraw(listed, ALICE)
    before = times.to_iso(times.now())
    update_metadata(ledger, listed)
    watcher.follow()
    assert new_events() == [("WITHDRAWN", ALICE, None, None, 250)]
    assert newest(app)["transaction_id"].startswith(f"{ALICE}@")
    assert newest(app)["consensus_at"] < before


def test_a_withdrawal_before_a_gift_is_recorded(listed, ledger, watcher, new_events):
    ledger.withdraw(listed, ALICE)
    ledger.hand_over(listed, BOB)
    watcher.follow()
    assert new_events() == [
        ("WITHDRAWN", ALICE, None, None, 250),
        ("TRANSFERRED", ALICE, BOB, None, None),
    ]


def test_a_withdrawal_before_the_next_listing_is_recorded(
    listed, ledger, lister, watcher, new_events
):
    ledger.withdraw(listed, ALICE)
    lister(listed, 300, add=False)
    assert new_events() == [
        ("WITHDRAWN", ALICE, None, None, 250),
        ("LISTED", ALICE, None, 300, None),
    ]


@pytest.mark.parametrize("silence", [None, Response(status=503)])
def test_a_sale_is_recorded_though_the_seller_has_the_nft_back_before_its_history_is_shown(
    client, listed, ledger, buy, watcher, mirror, new_events, silence
):
    replica = mirror.replica()
    buy_unseen(client, buy())
    ledger.hand_over(listed, ALICE)
    mirror.answer("/nfts/7/transactions", silence or replica)
    watcher.follow()
    assert new_events() == []
    assert_error(buy(), 503)
    mirror.heal()
    watcher.recheck(60)
    assert new_events() == [
        ("SOLD", ALICE, BOB, 250, 250),
        ("TRANSFERRED", BOB, ALICE, None, None),
    ]
    assert client.get(f"/v1/collection/{TOKEN}").json["volume"] == 250


@pytest.mark.parametrize("silence", [None, Response(status=503)])
def test_a_listing_ends_without_its_history_when_no_replica_lags_any_more(
    client, listed, ledger, watcher, mirror, new_events, monkeypatch, silence
):
    replica = mirror.replica()
    ledger.withdraw(listed, ALICE)
    mirror.answer("/nfts/7/transactions", silence or replica)
    watcher.follow()
    assert new_events() == []
    monkeypatch.setattr(times, "ALLOWED_LAG", -times.MINUTE)  # it was long ago
    watcher.recheck(60)
    assert new_events() == [("WITHDRAWN", ALICE, None, None, 250)]
    assert client.get("/v1/orderbook").json == []


# Long histories


def test_a_sale_is_recorded_though_a_hundred_updates_followed(
    client, listed, ledger, buy, watcher, mirror, new_events
):
    replica = mirror.replica()
    buy_unseen(client, buy())
    update_metadata(ledger, listed, 101)
    mirror.answer_later_pages("/nfts/7/transactions", replica)
    watcher.follow()
    assert new_events() == []
    mirror.heal()
    mirror.set_present(times.now() + 2 * times.MINUTE)
    watcher.recheck(60)
    assert new_events() == [("SOLD", ALICE, BOB, 250, 250)]


@pytest.mark.parametrize("updates", [99, 100])
def test_a_page_of_a_replica_that_has_no_history_of_it_is_awaited(
    client, listed, ledger, buy, watcher, mirror, new_events, updates
):
    buy_unseen(client, buy())
    update_metadata(ledger, listed, updates)
    nothing = Response(b'{"transactions": [], "links": {"next": null}}')
    mirror.answer_later_pages("/nfts/7/transactions", nothing)
    watcher.follow()
    assert new_events() == []
    mirror.heal()
    watcher.recheck(60)
    assert new_events() == [("SOLD", ALICE, BOB, 250, 250)]


@both_engines
def test_a_listing_is_found_though_a_hundred_updates_followed_at_once(client, nft, ledger, watcher):
    """Each page begins with the last entry of the one before: so nothing has to be awaited."""
    ledger.approve(nft, ALICE, MARKET, memo=listing_memo(*nft, 5, "Foo"))
    update_metadata(ledger, nft, 250)
    watcher.follow()
    assert client.get("/v1/orderbook").json[0]["listingPrice"] == 5


def test_a_sale_is_recorded_though_many_sales_elsewhere_followed(
    client, listed, ledger, buy, watcher, new_events
):
    buy_unseen(client, buy())
    for _ in range(3):
        move_elsewhere(ledger, listed, BOB, ALICE)
        move_elsewhere(ledger, listed, ALICE, BOB)
    watcher.follow()
    assert new_events() == [
        ("SOLD", ALICE, BOB, 250, 250),
        *[("TRANSFERRED", BOB, ALICE, None, None), ("TRANSFERRED", ALICE, BOB, None, None)] * 3,
    ]


# Older facts


def test_facts_that_decide_nothing_are_not_replaced_by_older_ones(
    client, ledger, watcher, mirror, new_events
):
    nft = TOKEN, 7
    ledger.mint(nft, BOB, times.now())
    replica = mirror.replica()
    ledger.hand_over(nft, ALICE)
    ledger.approve(nft, ALICE, MARKET, memo=listing_memo(*nft, 5, "Foo"))
    mirror.answer("/nfts/7/transactions", replica)
    assert client.post("/v1/add", json=KEYS).status_code == 200
    assert new_events() == [("ADDED", None, ALICE, None, None)]
    mirror.heal()
    mirror.answer("/", replica)
    watcher.recheck(60)
    assert new_events() == []
    assert shown(client)["owner"] == {"accountId": ALICE}
    mirror.heal()
    watcher.recheck(3600)
    assert new_events() == [("LISTED", ALICE, None, 5, None)]


# There and back


ROUND_TRIP = [("TRANSFERRED", ALICE, BOB, None, None), ("TRANSFERRED", BOB, ALICE, None, None)]


def test_a_round_trip_of_an_unlisted_nft_is_recorded(unlisted, ledger, watcher, mirror, new_events):
    ledger.hand_over(unlisted, BOB)
    replica = mirror.replica()
    ledger.hand_over(unlisted, ALICE)
    mirror.answer("/nfts/7/transactions", replica)
    watcher.follow()
    assert new_events() == []
    mirror.heal()
    watcher.recheck(60)
    assert new_events() == ROUND_TRIP


@both_engines
def test_a_sweep_finds_a_round_trip_that_following_missed(
    app, unlisted, ledger, new_events, mirror
):
    ledger.hand_over(unlisted, BOB)
    ledger.hand_over(unlisted, ALICE)
    for _ in range(2):
        mirror.asked.clear()
        assert app.test_cli_runner().invoke(args=["sync"]).exit_code == 0
    assert new_events() == ROUND_TRIP
    assert "/nfts/7/transactions" not in "".join(mirror.asked)  # once is enough


# A new treasury


def leave_accounts_out(document):
    """As the history of a mirror node that names accounts only with an NFT's own serial number."""
    for entry in document["transactions"]:
        if entry["type"] == "TOKENUPDATE":
            entry |= {"sender_account_id": None, "receiver_account_id": None}


@pytest.mark.parametrize("has_accounts", [True, False])
def test_a_new_treasury_has_its_own_transaction_though_another_move_follows(
    app, unlisted, ledger, watcher, mirror, new_events, has_accounts
):
    ledger.hand_over(unlisted, TREASURY)
    watcher.follow()
    new_events()
    update = wallets.new_body(TREASURY, "")
    update.tokenUpdate.token.CopyFrom(wallets.token_id(unlisted))
    update.tokenUpdate.treasury.CopyFrom(wallets.account(CHARLIE))
    content = ledger.sign_bytes(wallets.seal(update), TREASURY)
    assert ledger.submit(ledger.sign_bytes(content, CHARLIE)).result == "SUCCESS"
    ledger.hand_over(unlisted, BOB)
    if not has_accounts:
        mirror.alter("/nfts/7/transactions", leave_accounts_out)
    watcher.follow()
    assert new_events() == [
        ("TRANSFERRED", TREASURY, CHARLIE, None, None),
        ("TRANSFERRED", CHARLIE, BOB, None, None),
    ]
    with app.app_context():
        [change, move] = list_after(0)[-2:]
    assert change["transaction_id"].startswith(f"{TREASURY}@")
    assert change["consensus_at"] < move["consensus_at"]
