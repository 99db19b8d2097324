"""Tokens: their definitions, with all updates applied."""

from typing import Any, NamedTuple

from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, TokenType
from hiero_sdk_python.hapi.services.token_create_pb2 import TokenCreateTransactionBody

from hiero_sandbox import times
from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import keys, queries
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.storage import Connection

LIFE_SECONDS = 7_776_000  # ninety days, after which an account or a token is renewed
# The field of each key, and the code that refuses a transaction if the token has no such key.
KEYS = {
    "admin": ("adminKey", "TOKEN_IS_IMMUTABLE"),
    "fee_schedule": ("fee_schedule_key", "TOKEN_HAS_NO_FEE_SCHEDULE_KEY"),
    "freeze": ("freezeKey", "TOKEN_HAS_NO_FREEZE_KEY"),
    "kyc": ("kycKey", "TOKEN_HAS_NO_KYC_KEY"),
    "metadata": ("metadata_key", "TOKEN_HAS_NO_METADATA_KEY"),
    "pause": ("pause_key", "TOKEN_HAS_NO_PAUSE_KEY"),
    "supply": ("supplyKey", "TOKEN_HAS_NO_SUPPLY_KEY"),
    "wipe": ("wipeKey", "TOKEN_HAS_NO_WIPE_KEY"),
}


class Token(NamedTuple):
    token: str
    definition: TokenCreateTransactionBody
    is_created: bool = False  # by a transaction
    is_paused: bool = False
    created_at: int = times.GENESIS  # nanoseconds
    modified_at: int = times.GENESIS
    fees_at: int = times.GENESIS  # when its custom fees were last changed

    @property
    def treasury(self) -> str:
        return write_id(self.definition.treasury)

    @property
    def is_fungible(self) -> bool:
        return bool(self.definition.tokenType == TokenType.FUNGIBLE_COMMON)

    @property
    def expiry(self) -> int:
        """When it expires, in nanoseconds. Nothing happens then."""
        given = self.definition.expiry
        renewal = self.definition.autoRenewPeriod.seconds
        return times.SECOND * int(given.seconds) or self.created_at + int(renewal) * times.SECOND

    def key(self, name: str) -> Key | None:
        """One of its keys, by the names of KEYS. An empty key is none."""
        key: Key = getattr(self.definition, KEYS[name][0])
        return None if keys.is_empty(key) else key


def find(db: Connection, token: str) -> Token:
    """Find a token. Refuses an id of no token."""
    found = get(db, token)
    if found is None:
        raise Refused("INVALID_TOKEN_ID")
    return found


def get(db: Connection, token: str) -> Token | None:
    row = queries.get(db, "token", token=token)
    if row is None:
        found = db.world.find_token(token)
        return Token(token, found) if found else None
    definition = TokenCreateTransactionBody.FromString(row["definition"])
    return Token(**dict(row) | {"definition": definition})


def get_existing(db: Connection, token: str) -> Token:
    """Find a token. Refuses one that is deleted."""
    found = find(db, token)
    refuse_if(queries.is_deleted(db, token), "TOKEN_WAS_DELETED")
    return found


def get_usable(db: Connection, token: str) -> Token:
    """Find a token. Refuses one that is deleted or paused."""
    found = get_existing(db, token)
    refuse_if(found.is_paused, "TOKEN_IS_PAUSED")
    return found


def put(db: Connection, token: Token, **changes: Any) -> None:
    """Write a token with some fields changed."""
    changed = token._replace(**changes)
    content = changed.definition.SerializeToString()
    queries.put(db, "token", **changed._asdict() | {"definition": content})


def supply(db: Connection, token: Token) -> int:
    """How many NFTs or units of a token there are."""
    if token.is_fungible:
        return sum(row["balance"] for row in queries.select(db, "holding", token=token.token))
    ended = queries.count(db, "nft", token=token.token, owner=queries.NOBODY)
    return queries.count(db, "nft", token=token.token) - ended


def require_room(db: Connection, token: Token, amount: int) -> None:
    """Refuse to mint more than the token's maximum."""
    after = supply(db, token) + amount
    refuse_if(0 < token.definition.maxSupply < after, "TOKEN_MAX_SUPPLY_REACHED")
    refuse_if(token.is_fungible and after > MAX_INT64, "INVALID_TOKEN_MINT_AMOUNT")


def has_treasury(db: Connection, account_id: str) -> bool:
    """Whether an account is the treasury of a token that is not deleted."""
    return any(
        find(db, token).treasury == account_id and not queries.is_deleted(db, token)
        for token in queries.list_tokens(db)
    )


def require_unrestricted(db: Connection, token: str, *account_ids: str) -> None:
    """Refuse accounts that are frozen for a token, or whose KYC is missing."""
    for account_id in account_ids:
        row = queries.get(db, "association", account_id=account_id, token=token)
        refuse_if(row and row["is_frozen"], "ACCOUNT_FROZEN_FOR_TOKEN")
        refuse_if(row and not row["is_kyc_granted"], "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
