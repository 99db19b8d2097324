"""Checks that accounts have signed, and learns the keys of those that had none."""

from itertools import pairwise

from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

from marketplace.sandbox import wallet
from marketplace.sandbox.ledger import accounts, keys, queries
from marketplace.sandbox.ledger.envelopes import Refused, Signed
from marketplace.store.rows import Connection


def require_distinct(signed: Signed) -> None:
    """Refuse a prefix of a key that another prefix begins with. So each key has one signature at most.

    Otherwise each key of a threshold key could have thousands of them to verify.
    """
    prefixes = sorted(pair.pubKeyPrefix for pair in signed.pairs)
    # Between a prefix and what begins with it, all begin with it.
    if any(longer.startswith(prefix) for prefix, longer in pairwise(prefixes)):
        raise Refused("KEY_PREFIX_MISMATCH")


def require(db: Connection, signed: Signed, account_id: str, now: int) -> None:
    """Check that an account has signed. Refuses with INVALID_SIGNATURE.

    The first key that signs for an account that nobody has created becomes its key. The payer's own
    signature does not count for another account whose key is not known yet. The demo wallet's signature for
    an account is tried first. An account that a transfer to its EVM address has created gets the key of
    that address.
    """
    known = accounts.key(db, account_id)
    if known is None:
        found = _find_key(db, signed, account_id)
        if found is None:
            raise Refused("INVALID_SIGNATURE")
        accounts.change(db, account_id, now, key=found.SerializeToString().hex())
    elif not keys.has_signed(known, signed):
        raise Refused("INVALID_SIGNATURE")


def _find_key(db: Connection, signed: Signed, account_id: str) -> Key | None:
    """The first key that has signed and may become the account's.

    Of the payer it is the last one: SDKs add their operator's signature to those that a program has made.
    """
    payer = signed.id.account_id
    payers, pairs = accounts.key(db, payer), signed.pairs[:: -1 if account_id == payer else 1]
    addresses = queries.list_aliases(db, account_id)
    demo_key = wallet.private_key(account_id).public_key().to_bytes_raw()
    for pair in sorted(pairs, key=lambda pair: pair.pubKeyPrefix != demo_key):
        content = pair.pubKeyPrefix
        if len(content) not in (32, 33) or not keys.verifies(content, pair, signed.body_bytes):
            continue
        if addresses and keys.evm_address(content) not in addresses:
            continue
        if addresses or keys.of_bytes(content) != payers:
            return keys.of_bytes(content)
    return None
