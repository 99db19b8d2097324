"""What tests do with a service, and what they read of it."""

import base64

from harness import wallets
from harness.apps import write_sql
from harness.cast import ALICE, BOB, KEYS, TOKEN
from harness.ledger import Ledger
from harness.mirror import Mirror
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.market import history, listing, nfts
from marketplace.market.requests import MarketRequest
from marketplace.services import read, write
from marketplace.store import nft_collections
from marketplace.watcher.maintenance import Ranker

SALE = {
    "kind": "SOLD", "token": TOKEN, "serial_no": 7, "from_account": ALICE, "to_account": BOB, "price": 250,
    "previous_price": 240, "transaction_id": "0.0.9001@1763640000.000000001",
    "consensus_at": "2026-11-20T12:00:00.123456789Z", "seen_at": "2026-11-20T12:00:02.000000000Z",
    "offer_id": None, "received": 237_50000000,
}  # fmt: skip


def tell(app, *changes):
    """Insert events, as the reconciler does: sales that are changed so."""
    with app.app_context(), write() as db:
        insert_sales(db, [SALE | change for change in changes])


def insert_sales(db, rows):
    for row in rows:
        if row["kind"] == "SOLD":
            nft_collections.add_sale(db, row)
    history.insert_events(db, rows)


def shown(client, nft=(TOKEN, 7)):
    """An NFT as the API shows it."""
    return client.get(f"/v1/nft/{nft[0]}/{nft[1]}").json


def report(client, transaction_id=None, **fields):
    named = {"transactionId": transaction_id} if transaction_id else {}
    return client.post("/v1/comingsoon", json=KEYS | named | fields)


def list_nft(client, listing_price=5, **keys):
    """Add an NFT, list it and report it; returns the transaction's id."""
    keys, ledger = KEYS | keys, Ledger(client.application)
    assert client.post("/v1/add", json=keys).status_code == 200
    prepared = client.post("/v1/list/extwallet", json=keys | {"listingPrice": listing_price})
    transaction_id = ledger.sign_and_submit(prepared.json["byteArray"], keys["accountId"])
    assert client.post("/v1/comingsoon", json=keys).json["result"] == "OK"
    return transaction_id


def hand_in(client, prepared, account_id=BOB, signed=None, **fields):
    """Hand in a prepared purchase, signed by the demo wallet; returns the answer."""
    byte_array = prepared if isinstance(prepared, str) else prepared.json["byteArray"]
    signed = signed or Ledger(client.application).sign(byte_array, account_id)
    moved = wallets.body_of(base64.b64decode(byte_array)).cryptoTransfer.tokenTransfers
    nfts = [
        {"tokenId": f"0.0.{each.token.tokenNum}", "serialNo": nft.serialNumber}
        for each in moved
        for nft in each.nftTransfers
    ]
    about = nfts[0] if len(nfts) == 1 else {"nfts": nfts}
    body = {"accountId": account_id, "signedTransaction": base64.b64encode(signed).decode()}
    return client.post("/v1/comingsoon", json=body | about | fields)


def settle_purchase(client, prepared, account_id=BOB):
    """Hand in a prepared purchase, which the ledger shows at once; returns the transaction's id."""
    answer = hand_in(client, prepared, account_id)
    assert answer.json == {"result": "OK"}, answer.json
    return prepared.json["metadata"]["transactionId"]


def buy_unseen(client, prepared, account_id=BOB):
    """Hand in a purchase that the mirror node does not show yet; returns the transaction's id."""
    mirror = Mirror(client.application)
    mirror.alter("/transactions/[^/]*$", lambda document: document.update(transactions=[]))
    answer = hand_in(client, prepared, account_id)
    mirror.heal()
    assert answer.json["result"] == "PENDING", answer.json
    return prepared.json["metadata"]["transactionId"]


def list_purchases(app):
    """The purchases that were handed in, the oldest first."""
    sql = """
        SELECT * FROM prepared_transaction JOIN prepared_nft USING (transaction_id)
        WHERE kind = 'purchase'
        ORDER BY prepared_at, transaction_id
    """
    with app.app_context():
        return [dict(row) for row in read().execute(sql).fetchall()]


def expire(app):
    """Let the time be over of all that was prepared and not submitted."""
    then = times.to_iso(times.now() - 600 * times.SECOND)
    write_sql(app, "UPDATE prepared_transaction SET expires_at = :then", then=then)


def prepare_long_ago(app):
    """Prepare a listing ten minutes ago, which can't be valid any more: its bytes and the moment."""
    then = times.now() - 600 * times.SECOND
    Ledger(app).mint((TOKEN, 7), ALICE, then - times.SECOND)
    with app.app_context():
        ask = MarketRequest(ALICE, [NftId(TOKEN, 7)])
        nfts.add(ask)
        return listing.prepare_listing(ask, 250, then).transaction, then


def rank(app):
    """Rank the collections that have changed, as the watcher does."""
    with app.app_context():
        Ranker().step()
