"""A marketplace with one NFT for sale after the other, and what its buyers do."""

from typing import NamedTuple

import pytest

from harness.apps import authorized_client, settings
from harness.cast import BOB, MARKET, TOKEN
from harness.ledger import Ledger
from marketplace import create_app
from marketplace.hedera import times
from marketplace.market.buying import fees
from marketplace.market.buying.signer import Signer
from marketplace.services import services, write
from marketplace.watcher.follow import Follower
from marketplace.watcher.sweep import sync
from tests import actions
from tests.actions import list_nft

HBAR = 100_000_000
MOST = HBAR  # of one purchase: 0.5, and an association of $0.05 at ten cents an HBAR


class Outcome(NamedTuple):
    """What became of a signed transaction: the ledger's result, or the reason of a refusal before."""

    result: str
    transaction_id: str
    answer: object = None


def kill_while_submitting(market, r, account_id=BOB):
    """Hand in, and end the request before anything has been submitted."""

    class Killed(BaseException):
        pass

    def kill(transaction):
        raise Killed

    sandbox = market.app.extensions["marketplace"].sandbox
    submit, sandbox.submit = sandbox.submit, kill
    try:
        with pytest.raises(Killed):
            actions.hand_in(market.client, r, account_id)
    finally:
        sandbox.submit = submit


class Market:
    """A marketplace with one NFT for sale after the other."""

    def __init__(self, folder, sign=None, **more):
        """``sign``: a host's signer, which only a real network has."""
        self.app = create_app(**settings(folder) | {"MIRROR_NODE_RATE": "10000"} | more)
        if sign:
            services(self.app).signer = Signer(MARKET, lambda: sign)
        self.client = authorized_client(self.app, "read", "write")
        self.ledger = Ledger(self.app)
        self.follower = Follower()
        self.serial_no = 0
        self.follow()

    def list_one(self, price=5):
        self.serial_no += 1
        list_nft(self.client, price, serialNo=self.serial_no)
        return self.serial_no

    def buy(self, serial_no, account_id=BOB, client=None, token=TOKEN):
        keys = {"accountId": account_id, "tokenId": token, "serialNo": serial_no}
        return (client or self.client).post("/v1/buy/extwallet", json=keys)

    def submit(self, r, account_id=BOB):
        """Hand in a purchase, signed by its buyer; or submit another transaction, as its wallet does."""
        if not r.json["metadata"]["returnTransaction"]:
            receipt = self.ledger.submit(self.ledger.sign(r.json["byteArray"], account_id))
            return Outcome(receipt.result, receipt.transaction_id)
        answer = actions.hand_in(self.client, r, account_id)
        result = "SUCCESS" if answer.status_code == 200 else answer.json.get("reason", "PENDING")
        if result == "TRANSACTION_REFUSED":
            [result] = answer.json["errors"]["ledger"]["result"]
        return Outcome(result, r.json["metadata"]["transactionId"], answer)

    def submit_unseen(self, r, account_id=BOB):
        """Hand in a purchase that the mirror node does not show yet."""
        actions.buy_unseen(self.client, r, account_id)

    def sync(self):
        """Let another watcher read on, and compare everything."""
        with self.app.app_context():
            Follower().step()
            sync()

    def follow(self):
        """Let the watcher read on; the first time it begins at the present."""
        with self.app.app_context():
            self.follower.step()

    def balance(self, account_id=MARKET):
        return self.ledger.balance(account_id)

    def rows(self):
        return actions.list_purchases(self.app)

    def age(self, seconds):
        """Let all purchases be so much older."""
        with self.app.app_context(), write() as db:
            for row in self.rows():
                moved = {"id": row["transaction_id"]}
                for name in ("prepared_at", "expires_at"):
                    then = times.from_iso(row[name]) - seconds
                    moved[name] = times.to_iso(int(then * times.SECOND))
                sql = """
                    UPDATE prepared_transaction
                    SET prepared_at = :prepared_at, expires_at = :expires_at
                    WHERE transaction_id = :id
                """
                db.execute(sql, moved)

    def settle(self):
        """Let all purchases expire, and the watcher settle them."""
        self.age(190)
        self.sync()

    def fees(self):
        with self.app.app_context():
            return fees.find_fees(times.now())
