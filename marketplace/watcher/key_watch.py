"""Compares the purchase signing key with the account's key: hourly, and when a transaction gives a reason."""

import time
from contextlib import suppress

from flask import current_app

from marketplace.errors import SignerFailed
from marketplace.hedera import times
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import Transaction
from marketplace.market.buying import account_key
from marketplace.market.offers.rule import KEY_UPDATE
from marketplace.services import mirror_node

REFUSED = ("INVALID_SIGNATURE", "INVALID_PAYER_SIGNATURE")
HOUR = 3600


class KeyWatch:
    """When to compare next: at once after a reason, and again once all replicas show it."""

    def __init__(self) -> None:
        self._due = [float("-inf")]  # on the monotonic clock

    def look_at(self, row: Transaction) -> None:
        """Note a transaction that may have changed the account's key, or that its key did not sign."""
        account_id = current_app.config["ACCOUNT_ID"]
        is_update = row.name == KEY_UPDATE and row.entity_id == account_id
        is_refused = row.result in REFUSED and row.payer == account_id and not row.scheduled
        if is_update or is_refused:
            now = time.monotonic()
            self._due = [now, now + times.ALLOWED_LAG / times.SECOND, *self._due[-1:]]

    def step(self) -> None:
        """Compare if that is due. Raises the ledger's errors, and the database's."""
        now = time.monotonic()
        if now < min(self._due):
            return
        compare()
        self._due = [moment for moment in self._due if moment > now] or [now + HOUR]


def compare() -> None:
    """Compare the key that signed last with the account's key. Raises the ledger's errors."""
    state, account_id = account_key.find_state(), current_app.config["ACCOUNT_ID"]
    if state is None:
        return
    account = mirror_node().find_account(account_id, Deadline(UNHURRIED_SECONDS))
    with suppress(SignerFailed):  # it is stored
        account_key.compare(bytes.fromhex(state["public_key"]), account)
