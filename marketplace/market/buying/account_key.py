"""The marketplace account's key: which keys can sign for the account, and whether the signer's key can.

Processes that sign store the result. So does the watcher, which may have no signer: it compares the keys
hourly, and when a transaction gives a reason.
"""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TypedDict

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable, SignerFailed, StartRefused
from marketplace.hedera import times
from marketplace.ledger import UNHURRIED_SECONDS, Deadline
from marketplace.ledger.objects import LedgerAccount, Transaction, TransactionType
from marketplace.market.buying.signer import Signer
from marketplace.services import mirror_node, read, write
from marketplace.store import properties

SINGLE_KEYS = ("ED25519", "ECDSA_SECP256K1")
KEY_SECONDS = 3  # for the mirror node to show the account's key
HOUR = 3600
REFUSED = ("INVALID_SIGNATURE", "INVALID_PAYER_SIGNATURE")


def find_keys(account: LedgerAccount | None) -> Sequence[bytes]:
    """The public keys that can each sign for an account alone; none if the sandbox has no key for it yet.

    While an operator replaces the key, the account may have a 1-of-N threshold key, with several keys. Raises
    SignerFailed if one signature is not enough.
    """
    account_id = current_app.config["ACCOUNT_ID"]
    if account is None or account.is_deleted:
        raise SignerFailed(f"{account_id} is not an account on the ledger")
    key = account.key
    if key is None and current_app.config["NETWORK"] == "sandbox":
        return ()
    if key is None:
        raise SignerFailed(f"{account_id} is hollow: it has no key until it signs a transaction")
    keys: Sequence[bytes] = [key.content]
    if key.type not in SINGLE_KEYS:
        from marketplace.hedera.signatures import list_sufficient  # the SDK takes 70 MB

        keys = list_sufficient(key.content)
    if not keys:
        raise SignerFailed(
            f"the key of {account_id} is a list of keys, or a contract ({key.type}): one signature is not"
            " enough for it. Use a single key, or a threshold key of which one key is enough"
        )
    return keys


def compare(public_key: bytes, account: LedgerAccount | None) -> None:
    """Raise SignerFailed unless a key can sign for the account. Store the result, for the operator."""
    try:
        keys = find_keys(account)
        if keys and public_key not in keys:
            expected, account_id = (
                " or ".join(key.hex() for key in keys),
                current_app.config["ACCOUNT_ID"],
            )
            raise SignerFailed(
                f"it signs with the key {public_key.hex()}, but that of {account_id} is {expected}"
            )
    except SignerFailed as error:
        _note(public_key, error.reason)
        raise
    _note(public_key, None)


def require_account(signer: Signer) -> None:
    """At startup, compare the signer's key with the account's key on the ledger. Raises StartRefused.

    If the ledger does not answer, logs a warning; the first purchase compares the keys. A host's callable
    reveals its key only when it signs.
    """
    public_key: bytes | None = getattr(signer.load(), "public_key", None)
    account_id = current_app.config["ACCOUNT_ID"]
    try:
        account = mirror_node().find_account(account_id, Deadline(KEY_SECONDS))
        find_keys(account)
    except SignerFailed as error:
        raise StartRefused(f"Purchases cannot be signed: {error}") from None
    except (LedgerUnreachable, LedgerAnswerInvalid) as error:
        current_app.logger.warning(
            "The signer's key could not be compared with the account's. The first purchase will do so: %s",
            error,
        )
        return
    finally:
        mirror_node().close()
    if public_key is not None:
        try:
            compare(public_key, account)
        except SignerFailed:
            raise StartRefused(
                f"MARKETPLACE_ACCOUNT_KEY_FILE does not hold the key that {account_id} has on the ledger"
            ) from None


class KeyState(TypedDict):
    public_key: str  # hexadecimal
    reason: str | None  # why it cannot sign for the account; None: it can
    since: str  # when that began


def find_state() -> KeyState | None:
    """The state that was noted last; None before the first signature."""
    stored = properties.get_property(read(), properties.SIGNER_KEY)
    if stored is None:
        return None
    state: KeyState = json.loads(stored)
    return state


def find_reason() -> str | None:
    """Why no purchase can be signed; None if all is well."""
    state = find_state()
    return state["reason"] if state else None


def _note(public_key: bytes, reason: str | None) -> None:
    """Store whether a key can sign for the account, and log a change. Writes nothing if nothing changed."""
    before = find_state()
    key, reason_before = public_key.hex(), before["reason"] if before else None
    if before and (before["public_key"], reason_before) == (key, reason):
        return
    state = KeyState(public_key=key, reason=reason, since=times.to_iso(times.now()))
    with write() as db:
        properties.mark_property(db, properties.SIGNER_KEY, json.dumps(state).encode())
    if reason != reason_before:
        log = current_app.logger
        if reason:
            log.error("Buying is off, because purchases cannot be signed: %s", reason)
        else:
            log.warning("Purchases can be signed again")


class KeyWatch:
    """When to compare next: at once after a reason, and again once all replicas show it."""

    def __init__(self) -> None:
        self._due = [float("-inf")]  # on the monotonic clock

    def look_at(self, row: Transaction) -> None:
        """Note a transaction that may have changed the account's key, or that its key did not sign."""
        account_id = current_app.config["ACCOUNT_ID"]
        is_update = row.name == TransactionType.ACCOUNT_UPDATE and row.entity_id == account_id
        is_refused = row.result in REFUSED and row.payer == account_id and not row.scheduled
        if is_update or is_refused:
            now = time.monotonic()
            self._due = [now, now + times.ALLOWED_LAG / times.SECOND, *self._due[-1:]]

    def step(self) -> None:
        """Compare if that is due. Raises the ledger's errors, and the database's."""
        now = time.monotonic()
        if now < min(self._due):
            return
        compare_last()
        self._due = [moment for moment in self._due if moment > now] or [now + HOUR]


def compare_last() -> None:
    """Compare the key that signed last with the account's key. Raises the ledger's errors."""
    state, account_id = find_state(), current_app.config["ACCOUNT_ID"]
    if state is None:
        return
    account = mirror_node().find_account(account_id, Deadline(UNHURRIED_SECONDS))
    with suppress(SignerFailed):  # it is stored
        compare(bytes.fromhex(state["public_key"]), account)
