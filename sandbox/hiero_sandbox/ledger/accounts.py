"""Accounts: their HBAR, their keys, and the tokens that they are associated with."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

from hiero_sandbox import times
from hiero_sandbox.ids import MAX_INT64, TINYBARS, numbers
from hiero_sandbox.ledger import keys, queries, tokens
from hiero_sandbox.ledger.envelopes import Refused, Signed, refuse_if
from hiero_sandbox.storage import Connection

FIRST_BALANCE = 10_000 * TINYBARS
UNLIMITED = -1
UNPAID = "INSUFFICIENT_ACCOUNT_BALANCE"
# This account gets all fees, which the network shares out once a day: HIP-1259,
# https://docs.hedera.com/learn/core-concepts/accounts/network-accounts
FEE_COLLECTOR = "0.0.802"
STAKING_REWARDS = "0.0.800"  # pays the rewards of those who stake: HIP-406


class Account(NamedTuple):
    """An account. One that only the world has begins with these values, without a row until it changes."""

    account_id: str
    key: str | None = None  # HAPI's Key, in hexadecimal; None until it has signed
    balance: int = FIRST_BALANCE  # tinybars
    automatic_associations: int = UNLIMITED  # the most that transfers may make
    memo: str = ""
    is_receiver_signature_required: int = 0
    created_at: int = times.GENESIS
    pending_reward: int = 0  # tinybars that staking has earned, and that were not paid yet
    staked_account: str | None = None  # it stakes to this account,
    staked_node: int | None = None  # or to this node
    declines_reward: int = 0
    is_deleted: int = 0
    renewal_seconds: int = tokens.LIFE_SECONDS
    expires_at: int | None = None

    @property
    def expiry(self) -> int:
        """When it expires, in nanoseconds. Nothing happens then, as on the network."""
        return self.expires_at or self.created_at + self.renewal_seconds * times.SECOND


def get(
    db: Connection,
    account_id: str,
    created_at: int = times.GENESIS,
    missing: str = "INVALID_ACCOUNT_ID",
) -> Account:
    """Find an account. Refuses, with the code ``missing``, an id of no account."""
    row = queries.get(db, "account", account_id=account_id)
    if row:
        return Account(**row)
    refuse_if(not db.world.find_account(account_id), missing)
    return Account(account_id, created_at=created_at)


def exists(db: Connection, account_id: str) -> bool:
    is_there = queries.get(db, "account", account_id=account_id) is not None
    return is_there or db.world.find_account(account_id)


def change(db: Connection, account_id: str, now: int, **changes: Any) -> None:
    """Change some columns of an account."""
    account = get(db, account_id, created_at=now)
    queries.put(db, "account", **account._replace(**changes)._asdict())


def require_existing(db: Connection, account_id: str, code: str = "INVALID_ACCOUNT_ID") -> None:
    """Refuse an account that does not exist. One that was deleted does."""
    refuse_if(not exists(db, account_id), code)


def require_usable(db: Connection, account_id: str, code: str | None = None) -> None:
    """Refuse an account that does not exist, or was deleted: with this code, or with one for each."""
    account = get(db, account_id, missing=code or "INVALID_ACCOUNT_ID")
    refuse_if(account.is_deleted, code or "ACCOUNT_DELETED")


def balance(db: Connection, account_id: str) -> int:
    """How many tinybars an account has."""
    return get(db, account_id).balance


def add(db: Connection, account_id: str, amount: int, now: int, code: str = UNPAID) -> None:
    """Add to a balance, or take from it. Refuses, with the code, if the balance is too small."""
    require_usable(db, account_id)
    after = balance(db, account_id) + amount
    refuse_if(after < 0, code)
    refuse_if(after > MAX_INT64, "INVALID_ACCOUNT_AMOUNTS")
    change(db, account_id, now, balance=after)


def add_units(db: Connection, account_id: str, token: str, amount: int, code: str) -> None:
    """Add to an account's units of a fungible token, or take from them.

    Refuses, with the code, a result below 0 or above 64 bits: then the sender has too few units.
    """
    after = queries.count_units_of(db, account_id, token) + amount
    refuse_if(not 0 <= after <= MAX_INT64, code)
    queries.put(db, "holding", account_id=account_id, token=token, balance=after)


def key(db: Connection, account_id: str) -> Key | None:
    """An account's key; None until it has signed."""
    known = get(db, account_id).key
    if known:
        return Key.FromString(bytes.fromhex(known))
    found = db.world.find_key(account_id)
    return keys.of_bytes(found) if found else None


def require_signature(db: Connection, signed: Signed, account_id: str, now: int) -> None:
    """Check that an account has signed. Refuses with INVALID_SIGNATURE.

    An account that a transfer to its EVM address has created gets the key of that address. One that only the
    world has gets the key that the world chooses.
    """
    known = key(db, account_id)
    if known:
        if not keys.has_signed(known, signed):
            db.world.refuse_key(account_id)
            raise Refused("INVALID_SIGNATURE")
        return
    found = _find_key(db, signed, account_id)
    if found is None:
        raise Refused("INVALID_SIGNATURE")
    change(db, account_id, now, key=found.SerializeToString().hex())


def _find_key(db: Connection, signed: Signed, account_id: str) -> Key | None:
    """The first key that has signed and may become the account's key.

    For the payer it is the last one, because SDKs add their operator's signature after a program's. It does
    not count for another account whose key is not known yet.
    """
    payer = signed.id.account_id
    payers, pairs = key(db, payer), signed.pairs[:: -1 if account_id == payer else 1]
    addresses = queries.list_aliases(db, account_id)
    signers = (
        pair.pubKeyPrefix
        for pair in pairs
        if len(pair.pubKeyPrefix) in (32, 33)
        and keys.verifies(pair.pubKeyPrefix, pair, signed.body_bytes)
    )
    if addresses:
        found = next((each for each in signers if keys.evm_address(each) in addresses), None)
    else:
        others = (each for each in signers if keys.of_bytes(each) != payers)
        found = db.world.choose_key(account_id, others)
    return keys.of_bytes(found) if found else None


# Aliases


def is_of_number(alias: bytes) -> bool:
    """Whether an alias is the EVM address that is made from an account's number."""
    return len(alias) == keys.EVM_ADDRESS_BYTES and not any(alias[:12])


def find_by_alias(db: Connection, alias: bytes) -> str | None:
    """The account with an alias: a key, or an EVM address, which may be made from the account's number."""
    if is_of_number(alias):
        number = int.from_bytes(alias)
        is_there = 0 < number <= MAX_INT64 and exists(db, f"0.0.{number}")
        return f"0.0.{number}" if is_there else None
    row = queries.get(db, "alias", alias=alias)
    return row["account_id"] if row else None


def evm_address(db: Connection, account_id: str) -> bytes:
    """An account's EVM address. If it has none of its own, it is made from its id.

    That one has room for the last 32 bits of the shard only.
    """
    for alias in queries.list_aliases(db, account_id):
        if len(alias) == keys.EVM_ADDRESS_BYTES:
            return alias
    shard, realm, number = numbers(account_id)
    return (shard & 0xFFFFFFFF).to_bytes(4) + realm.to_bytes(8) + number.to_bytes(8)


def create(db: Connection, now: int, aliases: Iterable[bytes] = (), **columns: Any) -> str:
    """Create an account without HBAR; returns its id."""
    account_id = queries.new_id(db)
    account = Account(account_id, balance=0, created_at=now, **columns)
    queries.put(db, "account", **account._asdict())
    for alias in aliases:
        refuse_if(find_by_alias(db, alias), "ALIAS_ALREADY_ASSIGNED")
        queries.put(db, "alias", alias=alias, account_id=account_id)
    return account_id


# Tokens


def get_association(db: Connection, account_id: str, token: str) -> queries.Row | None:
    return queries.get(db, "association", account_id=account_id, token=token)


def is_associated(db: Connection, account_id: str, token: str) -> bool:
    """Whether an account may hold a token. Its treasury always may."""
    return (
        get_association(db, account_id, token) is not None
        or tokens.find(db, token).treasury == account_id
    )


def require_associated(db: Connection, account_id: str, token: str) -> None:
    refuse_if(not is_associated(db, account_id, token), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")


def associate(
    db: Connection, account_id: str, token: str, now: int, *, is_automatic: bool = False
) -> None:
    """Associate an account with a token, if it is not yet."""
    if get_association(db, account_id, token) is None:
        definition = tokens.find(db, token).definition
        queries.put(
            db,
            "association",
            account_id=account_id,
            token=token,
            is_automatic=int(is_automatic),
            created_at=now,
            is_frozen=int(definition.freezeDefault),
            is_kyc_granted=int(not definition.HasField("kycKey")),
        )


def count_automatic_associations(db: Connection, account_id: str) -> int:
    return queries.count(db, "association", account_id=account_id, is_automatic=1)


def associate_receiver(
    db: Connection,
    account_id: str,
    token: str,
    now: int,
    none_allowed: str = "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT",
) -> bool:
    """Associate an account with a token that it is about to get; returns whether that was needed.

    Refuses an account that allows no automatic association, with that code, or no further one.
    """
    if is_associated(db, account_id, token):
        return False
    limit = get(db, account_id).automatic_associations
    refuse_if(limit == 0, none_allowed)
    if limit != UNLIMITED and count_automatic_associations(db, account_id) >= limit:
        raise Refused("NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
    associate(db, account_id, token, now, is_automatic=True)
    return True
