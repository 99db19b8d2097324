"""The sandbox as a program of its own: with known accounts, in memory."""

from hiero_sandbox import node, times
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.conditions import now
from hiero_sandbox.ledger.genesis import known_accounts
from sandbox.tests import bodies


class Alone:
    def __init__(self, **options):
        self.app = create_sandbox(**options)
        self.client = self.app.test_client()

    def submit(self, body, *known):
        """Give a body a new id, sign it with the keys of known accounts, or other keys, and submit it."""
        start = body.transactionID.transactionValidStart
        start.seconds, start.nanos = divmod(times.now() - times.SECOND, times.SECOND)
        keys = {each.account_id: each.private_key for each in known_accounts()}
        content = bodies.sign(body, *(keys.get(each, each) for each in known))
        with self.app.app_context():
            return node.submit(content, now()).result

    def get(self, path):
        return self.client.get(f"/api/v1{path}")

    def balance(self, account_id):
        return self.get(f"/accounts/{account_id}").json["balance"]["balance"]

    def created(self):
        """The id of the newest account or token that a transaction has created."""
        return self.get("/transactions").json["transactions"][0]["entity_id"]
