"""Approvals on the ledger, and what a watcher that follows it queues."""

from harness import wallets
from harness.cast import ALICE, TOKEN
from marketplace.market.memos import listing_memo
from marketplace.services import read

NFT, MARKET = (TOKEN, 7), "0.0.9001"


def list_rechecks(app):
    with app.app_context():
        rows = read().execute("SELECT * FROM recheck ORDER BY kind, id").fetchall()
        return [(row["kind"], row["id"], row["serial_no"]) for row in rows]


def approve(ledger, nft, price=5, owner=ALICE):
    ledger.approve(nft, owner, MARKET, memo=listing_memo(*nft, price, "Foo"))


def approve_several(ledger, serial_nos, memo, owner=ALICE, spender=MARKET):
    body = wallets.approval(owner, (TOKEN, serial_nos[0]), spender, memo)
    body.cryptoApproveAllowance.nftAllowances[0].serial_numbers.extend(serial_nos[1:])
    assert ledger.submit(ledger.sign_bytes(wallets.seal(body), owner)).result == "SUCCESS"
