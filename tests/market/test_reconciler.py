"""What is stored follows the ledger, whoever asks, in whatever order, and whatever fails on the way.

Each test is named after what it protects; all of these were seen to break once.
"""

import base64

import pytest

from harness import wallets
from harness.apps import authorized_client, settings, write_sql
from harness.cast import ALICE, BOB, CHARLIE, KEYS, MARKET, TOKEN
from harness.engines import database_url
from harness.mirror import MISSING
from marketplace import create_app
from marketplace.hedera import times
from marketplace.market.memos import listing_memo
from tests.actions import prepare_long_ago, report, shown
from tests.answers import assert_error
from tests.engines import both_engines


def prepare(client, price=250, nft=(TOKEN, 7), account_id=ALICE):
    keys = {"accountId": account_id, "tokenId": nft[0], "serialNo": nft[1]}
    return client.post("/v1/list/extwallet", json=keys | {"listingPrice": price})


def price(client, nft=(TOKEN, 7)):
    return shown(client, nft)["listingPrice"]


def sync(app):
    return app.test_cli_runner().invoke(args=["sync"])


def stop_clock(monkeypatch):
    """Nothing becomes due meanwhile, however long a test takes."""
    now = times.now()
    monkeypatch.setattr(times, "now", lambda: now)


def last_sync(client):
    return client.get("/status").json["lastSync"]


# A listing is never lost


def test_a_listing_that_a_wrong_answer_took_off_comes_back(app, client, listed, mirror):
    mirror.alter("/accounts/", lambda document: document.update(nfts=[]))
    mirror.alter("/tokens/", lambda document: document.update(spender=None))
    assert "NFTs taken off the order book: 1" in sync(app).output
    assert price(client) == 0
    mirror.heal()
    write_sql(app, "DELETE FROM prepared_transaction")  # it was hours ago
    assert "NFTs listed: 1" in sync(app).output
    assert price(client) == 250


def test_a_transaction_that_a_replica_shows_late_is_not_reported_expired(
    app, client, ledger, mirror
):
    content, then = prepare_long_ago(app)
    # Until it is asked how far it has come: then it has all that follows.
    replica = mirror.replica()

    def until_asked(environ, start_response):
        if environ["PATH_INFO"].endswith("/blocks"):
            mirror.heal()
        return replica(environ, start_response)

    receipt = ledger.submit(ledger.sign_bytes(content), then)
    mirror.answer("/", until_asked)
    assert report(client, receipt.transaction_id).json["result"] == "OK"


def make_old(app, hours=5):
    """What was prepared was so hours ago: there was no round since."""
    then = times.now() - hours * 3600 * times.SECOND
    dates = {"then": times.to_iso(then), "end": times.to_iso(then + 180 * times.SECOND)}
    sql = "UPDATE prepared_transaction SET prepared_at = :then, expires_at = :end"
    write_sql(app, sql, **dates)


@pytest.mark.parametrize("part", ["/accounts/", "/nfts/7/transactions", "/api/v1/transactions"])
def test_a_prepared_listing_is_checked_until_a_sync_succeeds(
    app, client, nft, ledger, mirror, part
):
    ledger.sign_and_submit(prepare(client).json["byteArray"])
    make_old(app)
    mirror.fail(part)
    sync(app)
    mirror.heal()
    sync(app)
    assert price(client) == 250


# A price is never wrong


@both_engines
@pytest.mark.parametrize("old", ["/nfts/7/transactions", "/api/v1/transactions", "/accounts/"])
def test_replicas_that_disagree_leave_no_wrong_price(app, client, nft, ledger, lister, mirror, old):
    lister(nft, listing_price=100, add=False)
    lagging = mirror.replica()
    transaction_id = ledger.sign_and_submit(prepare(client, 200).json["byteArray"])
    mirror.answer(old, lagging)
    sync(app)
    assert report(client, transaction_id).status_code in (200, 202)
    assert price(client) in (100, 200)
    mirror.heal()
    sync(app)
    assert price(client) == 200


def forge(ledger, nft, forger):
    """Whoever pays writes the memo: here for 1 HBAR; the owner has signed the approval alone."""
    memo = listing_memo(*nft, 1, "Foo")
    body = wallets.new_body(CHARLIE, memo)
    approvals = body.cryptoApproveAllowance
    if forger == "schedule":
        scheduled = body.scheduleCreate.scheduledTransactionBody
        scheduled.transactionFee = body.transactionFee
        approvals = scheduled.cryptoApproveAllowance
    wallets.allow(approvals, nft, ALICE, MARKET)
    content = wallets.seal(body)
    for signer in (CHARLIE, ALICE):
        content = ledger.sign_bytes(content, signer)
    assert ledger.submit(content).result == "SUCCESS"


@pytest.mark.parametrize("forger", ["payer", "schedule"])
def test_a_stranger_cannot_forge_a_price(app, client, nft, ledger, lister, forger, tmp_path):
    lister(nft, listing_price=1000, add=False)
    forge(ledger, nft, forger)
    assert report(client).status_code == 409
    sync(app)
    assert price(client) == 0
    new = create_app(**settings(tmp_path) | {"DATABASE_URL": database_url(tmp_path, "new.db")})
    output = new.test_cli_runner().invoke(args=["rebuild", TOKEN]).output
    assert "NFTs found unchanged: 1" in output
    assert authorized_client(new, "read").get("/v1/orderbook").json == []


def test_a_look_at_a_listing_asks_three_questions(app, client, nft, ledger, mirror):
    ledger.sign_and_submit(prepare(client).json["byteArray"])
    mirror.asked.clear()
    assert report(client).json["result"] == "OK"
    assert mirror.asked == [
        f"/tokens/{TOKEN}/nfts/7",
        f"/tokens/{TOKEN}/nfts/7/transactions",
        "/transactions",
    ]


# Whose transaction it was makes no difference


def submit_with_new_id(ledger, byte_array, account_id=ALICE):
    """As Transaction.fromBytes(bytes).freezeWith(client) of the JavaScript SDK: under a new id."""
    body = wallets.body_of(base64.b64decode(byte_array))
    wallets.give_new_id(body, account_id)
    receipt = ledger.submit(ledger.sign_bytes(wallets.seal(body), account_id))
    assert receipt.result == "SUCCESS"
    return receipt.transaction_id


@pytest.mark.parametrize("is_named", [True, False])
def test_a_listing_under_an_id_of_the_wallets_own_is_reported(client, nft, ledger, is_named):
    transaction_id = submit_with_new_id(ledger, prepare(client).json["byteArray"])
    assert report(client, transaction_id if is_named else None).json["result"] == "OK"
    assert price(client) == 250
    assert report(client, transaction_id).json["result"] == "OK"


def test_an_id_of_the_wallets_own_is_awaited(client, nft, ledger, mirror):
    replica = mirror.replica()
    transaction_id = submit_with_new_id(ledger, prepare(client).json["byteArray"])
    mirror.answer("/", replica)
    assert report(client, transaction_id).status_code == 202
    mirror.heal()
    assert report(client, transaction_id).status_code == 200


def test_other_peoples_preparations_hide_nothing(client, nft, ledger):
    transaction_id = ledger.sign_and_submit(prepare(client, 250).json["byteArray"])
    for other in range(60):
        prepare(client, 1000 + other)
    assert report(client).json["result"] == "OK"
    assert report(client, transaction_id).json["result"] == "OK"
    assert price(client) == 250


def test_a_made_up_id_was_never_prepared(client, nft):
    for _ in range(2):
        for transaction_id in (f"{ALICE}@1.000000001", f"{BOB}@{times.now() // 10**9}.1"):
            assert_error(report(client, transaction_id), 404, "was not prepared here")
        prepare(client)


@pytest.mark.parametrize("memo", [None, "hello"])
def test_a_transaction_that_did_something_else_is_not_awaited_for_ever(app, client, ledger, memo):
    """Its id was prepared for one NFT; what was signed under it approves another one."""
    content, then = prepare_long_ago(app)
    ledger.mint((TOKEN, 8), ALICE, then - times.SECOND)
    body = wallets.body_of(content)
    body.memo = memo or body.memo
    body.cryptoApproveAllowance.nftAllowances[0].serial_numbers[0] = 8
    receipt = ledger.submit(ledger.sign_bytes(wallets.seal(body)), then)
    assert receipt.result == "SUCCESS"
    assert_error(report(client, receipt.transaction_id), 409, "not the transaction prepared here")
    assert_error(report(client), 409, "not the transaction prepared here")


# A deleted collection


def test_a_deleted_collection_leaves_the_order_book(app, client, listed, ledger, lister):
    lister((TOKEN, 8))
    ledger.delete_token()
    assert "NFTs taken off the order book: 2" in sync(app).output
    assert client.get("/v1/orderbook").json == []
    assert_error(report(client), 409, "its token was deleted")
    assert_error(prepare(client), 404, "its token was deleted")
    assert sync(app).output == "sellers checked: 1\n"


def test_an_nft_of_a_deleted_collection_is_not_added(client, ledger):
    ledger.mint((TOKEN, 7), ALICE, times.now())
    ledger.delete_token()
    assert_error(client.post("/v1/add", json=KEYS), 404, "its token was deleted")


def test_an_old_answer_does_not_bring_a_deleted_collection_back(
    app, client, listed, ledger, mirror
):
    replica = mirror.replica()
    ledger.delete_token()
    sync(app)
    mirror.answer("/", replica)
    prepare(client)
    sync(app)
    assert price(client) == 0


# One odd answer


ODD = {
    "no metadata": lambda document: document.update(metadata=None),
    "an owner of null": lambda document: document.update(account_id=None),
    "a date that is none": lambda document: document.update(modified_timestamp=None),
}


@pytest.mark.parametrize("oddity", ODD)
def test_one_odd_nft_keeps_no_other_from_being_looked_at(
    app, client, ledger, lister, mirror, oddity, caplog
):
    for serial_no in (1, 2, 3):
        lister((TOKEN, serial_no))
    for serial_no in (2, 3):
        ledger.sign_and_submit(prepare(client, 999, (TOKEN, serial_no)).json["byteArray"])
    ledger.hand_over((TOKEN, 1))
    mirror.alter("/accounts/", lambda document: ODD[oddity](document["nfts"][0]))
    mirror.alter(f"/tokens/{TOKEN}/nfts/2", lambda document: document.update(serial_number="x"))
    sync(app)
    assert price(client, (TOKEN, 1)) == 0
    assert price(client, (TOKEN, 3)) == 999
    if oddity not in ("no metadata", "an owner of null"):
        assert f"/tokens/{TOKEN}/nfts/2" in caplog.text
        assert "serial_number" in caplog.text


def test_a_partial_mirror_node_and_one_without_metadata_are_understood(
    app, client, lister, ledger, mirror
):
    mirror.alter("/nfts/1/transactions", lambda document: None, status=206)
    mirror.alter("/nfts/1$", lambda document: document.update(created_timestamp=None))
    mirror.alter("/nfts/2$", lambda document: document.update(metadata=None))
    for serial_no in (1, 2):
        lister((TOKEN, serial_no), listing_price=serial_no)
        ledger.sign_and_submit(
            prepare(client, 100 + serial_no, (TOKEN, serial_no)).json["byteArray"]
        )
    assert "NFTs listed: 2" in sync(app).output
    assert price(client, (TOKEN, 1)) == 101


def turn_around(document):
    document["transactions"].reverse()


def put_an_old_update_first(document):
    newest = document["transactions"][0]
    update = {"type": "TOKENUPDATENFTS", "consensus_timestamp": "1700000000.000000000"}
    document["transactions"].insert(0, newest | update)


@pytest.mark.parametrize("disorder", [turn_around, put_an_old_update_first])
def test_a_history_out_of_order_decides_nothing(
    app, client, listed, ledger, mirror, caplog, disorder
):
    ledger.sign_and_submit(prepare(client, 999).json["byteArray"])
    mirror.alter("/nfts/7/transactions", disorder)
    assert sync(app).exit_code == 1
    assert price(client) == 250
    assert "its history is out of order" in caplog.text
    mirror.heal()
    sync(app)
    assert price(client) == 999


def test_an_nft_that_vanished_is_a_contradiction(app, client, listed, mirror):
    mirror.alter("/accounts/", lambda document: document.update(nfts=[]))
    mirror.answer("/tokens/", MISSING)
    assert sync(app).exit_code == 1
    assert price(client) == 250


# What the operator sees


def test_the_last_sync_moves_only_when_all_were_checked(app, client, listed, mirror):
    sync(app)
    before = last_sync(client)
    mirror.fail("/accounts/", status=418)
    result = sync(app)
    assert "not checked: 1" in result.output
    assert result.exit_code == 1
    assert last_sync(client) == before
    mirror.heal()
    assert sync(app).exit_code == 0
    assert last_sync(client) > before


# What a round costs


def test_an_approval_without_a_price_is_looked_at_once(
    app, client, nft, ledger, mirror, monkeypatch
):
    prepare(client)
    ledger.approve(nft, ALICE, MARKET)
    stop_clock(monkeypatch)
    assert sync(app).output == "sellers checked: 1, NFTs found unchanged: 1\n"
    mirror.asked.clear()
    assert sync(app).output == "sellers checked: 1\n"
    asked = [f"/accounts/{ALICE}/nfts", f"/tokens/{TOKEN}/nfts/7", "/transactions"]
    assert sorted(mirror.asked) == asked


def test_an_approval_that_ended_is_not_asked_about_for_ever(
    app, client, ledger, mirror, monkeypatch
):
    ledger.mint((TOKEN, 7), ALICE, times.now())
    mirror.answer("/nfts/7/transactions", mirror.replica())
    ledger.approve((TOKEN, 7), ALICE, MARKET)
    assert client.post("/v1/add", json=KEYS).status_code == 200
    ledger.withdraw((TOKEN, 7), ALICE)
    mirror.heal()
    stop_clock(monkeypatch)
    sync(app)
    mirror.asked.clear()
    assert sync(app).output == "Nothing to do\n"
    assert sorted(mirror.asked) == [f"/tokens/{TOKEN}/nfts/7", "/transactions"]


def test_a_history_without_end_leaves_no_old_price(app, client, nft, ledger, lister):
    """Whoever may update the metadata can bury the last approval under updates."""
    lister(nft, listing_price=1, add=False)
    ledger.approve(nft, ALICE, MARKET, memo=listing_memo(*nft, 1000, "Foo"))
    with ledger.sandbox.app_context():
        for _ in range(501):
            wallets.update_metadata(*nft, times.now())
    assert "NFTs taken off the order book: 1" in sync(app).output
    assert price(client) == 0
    assert sync(app).output == "sellers checked: 1\n"


@pytest.mark.parametrize("is_listed", [True, False])
def test_replicas_that_disagree_leave_a_report_pending(app, client, ledger, mirror, is_listed):
    """However long ago it was signed: it is the transaction that was prepared here."""
    content, then = prepare_long_ago(app)
    transaction_id = ledger.submit(ledger.sign_bytes(content), then).transaction_id
    if is_listed:
        assert report(client, transaction_id).json["result"] == "OK"
        mirror.alter("/tokens/", lambda document: document.update(spender=None))
    else:
        mirror.alter("/nfts/7/transactions", lambda document: document["transactions"].pop(0))
    assert report(client, transaction_id).status_code == 202
    mirror.heal()
    assert report(client, transaction_id).json["result"] == "OK"
