"""What an account has: HBAR, a key once it has signed, and the tokens that it is associated with."""

from flask import current_app

from marketplace.hbar import TINYBARS
from marketplace.ids import MAX_INT64
from marketplace.sandbox import wallet
from marketplace.sandbox.ledger import queries

FIRST_BALANCE = 10_000 * TINYBARS
UNLIMITED = -1
# Where all fees go, before the network shares them out once a day: HIP-1259,
# https://docs.hedera.com/learn/core-concepts/accounts/network-accounts
FEE_COLLECTOR = "0.0.802"


class Refused(Exception):
    """A result code other than SUCCESS, of HAPI's ResponseCodeEnum."""


def balance(db, account_id: str) -> int:
    """How many tinybars an account has: 10,000 HBAR, where nothing has happened to it yet."""
    account = queries.get_account(db, account_id)
    return account["balance"] if account else FIRST_BALANCE


def add(db, account_id: str, amount: int, now: int, code="INSUFFICIENT_ACCOUNT_BALANCE") -> None:
    """Add to a balance, or take from it. Refuses, with the code, to take more than there is."""
    after = balance(db, account_id) + amount
    if after < 0:
        raise Refused(code)
    if after > MAX_INT64:
        raise Refused("INVALID_ACCOUNT_AMOUNTS")
    _require_row(db, account_id, now)
    queries.mark_balance(db, account_id, after)


def require_usable(db, account_id: str) -> None:
    """Refuses an account that was deleted."""
    account = queries.get_account(db, account_id)
    if account and account["deleted_at"]:
        raise Refused("ACCOUNT_DELETED")


def delete(db, account_id: str, now: int) -> None:
    """Delete an account, whose HBAR stay where they are."""
    _require_row(db, account_id, now)
    queries.mark_account_deleted(db, account_id, now)


def add_units(db, account_id: str, token: str, amount: int, code: str) -> None:
    """Add to what an account has of a token that is no NFT. Refuses, with the code, to take more."""
    holding = queries.get_holding(db, account_id, token)
    after = (holding["balance"] if holding else 0) + amount
    if after < 0:
        raise Refused(code)
    queries.upsert_holding(db, account_id, token, after)


def learn_key(db, account_id: str, key_type: str, public_key: str, now: int) -> None:
    """The first key that signs for an account is its key from then on."""
    _require_row(db, account_id, now)
    queries.mark_key(db, account_id, key_type, public_key)


def key(db, account_id: str) -> tuple[str, str] | None:
    """An account's key: its type, and the public key in hexadecimal. None where it has not signed yet.

    The treasury's is the demo wallet's from the beginning, as it is the supply key of every token. So is the
    marketplace's, where the demo wallet signs for it: of a purchase whose signature was dropped, the buyer's
    would be the first otherwise.
    """
    account = queries.get_account(db, account_id)
    if account and account["key_type"]:
        return account["key_type"], account["public_key"]
    if account_id in (queries.TREASURY, current_app.config.get("DEMO_WALLET_SIGNS_FOR")):
        return "ED25519", wallet.private_key(account_id).public_key().to_bytes_raw().hex()
    return None


def _require_row(db, account_id: str, now: int) -> None:
    queries.insert_account(db, account_id, FIRST_BALANCE, now)


# Tokens


def automatic_associations(db, account_id: str) -> int:
    """How many associations an account lets transfers make: -1 for any number, 0 for none."""
    account = queries.get_account(db, account_id)
    return account["automatic_associations"] if account else UNLIMITED


def set_automatic_associations(db, account_id: str, limit: int, now: int) -> None:
    """Say how many associations transfers may make. Those that are there stay."""
    _require_row(db, account_id, now)
    queries.mark_automatic_associations(db, account_id, limit)


def is_associated(db, account_id: str, token: str) -> bool:
    """Whether an account may hold a token. Its treasury always may."""
    return (
        account_id == queries.TREASURY or queries.get_association(db, account_id, token) is not None
    )


def associate(db, account_id: str, token: str, now: int) -> None:
    """Associate an account with a token, as it has asked for."""
    queries.insert_association(db, account_id, token, 0, now)


def associate_receiver(db, account_id: str, token: str, now: int) -> bool:
    """Associate an account with a token that it is about to get; tells whether that was needed.

    Refuses where it is not associated, and lets no transfer do it, or no further one.
    """
    if is_associated(db, account_id, token):
        return False
    limit = automatic_associations(db, account_id)
    if limit == 0:
        raise Refused("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    if limit != UNLIMITED and queries.count_automatic_associations(db, account_id) >= limit:
        raise Refused("NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
    queries.insert_association(db, account_id, token, 1, now)
    return True
