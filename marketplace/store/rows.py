"""The types of rows that statements return, and of the connection that runs them.

They are only annotations: each engine returns its own kind of row, whose columns are read by name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict


class Rows(Protocol):
    """The result of a statement. Each row can be read once."""

    @property
    def rowcount(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any | None: ...

    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """A connection of either engine."""

    def execute(self, sql: str, parameters: Mapping[str, object] = ..., /) -> Rows: ...


NOTHING: Mapping[str, object] = {}


def only(db: Connection, sql: str, parameters: Mapping[str, object] = NOTHING) -> Any:
    """Run a statement that always returns one row, and return this row."""
    [row] = db.execute(sql, parameters).fetchall()
    return row


def count(db: Connection, sql: str, parameters: Mapping[str, object] = NOTHING) -> int:
    """Run a statement that counts, and return its column ``n``."""
    return int(only(db, sql, parameters)["n"])


def merge(parts: Sequence[str], order: str) -> str:
    """Join statements that each return rows in this order to one that returns the first ``:limit`` rows."""
    if len(parts) == 1:
        return parts[0]
    union = " UNION ALL ".join(f"SELECT * FROM ({part}) AS part" for part in parts)
    return f"{union} ORDER BY {order} LIMIT :limit + 0"


LedgerState = Literal[
    "decided", "row_only", "undecided", "gone"
]  # of an NFT: schema.sql explains it


class NftRow(TypedDict):
    token: str
    serial_no: int
    name: str
    file_type: str
    attributes: str | None
    image: str | None
    original_image_url: str | None
    owner: str
    is_for_sale: int
    listing_price: int
    last_listed_at: str | None
    ledger_at: str
    ledger_state: LedgerState
    metadata: str | None
    missing: str | None
    attempts: int
    retry_at: str | None
    listed_order: str
    unranked: str | None
    asked_at: str | None
    read_at: str | None
    reread_at: str | None
    is_hidden: int
    is_listed: int


class CollectionFactsRow(TypedDict):
    """The facts of a collection that clients see, without its floor price."""

    token: str
    name: str | None
    symbol: str | None
    total_supply: int | None
    treasury: str | None
    royalties: str | None
    fixed_fees: str | None
    listed: int
    sales: int
    volume: int
    last_sale_price: int | None
    last_sale_at: str | None
    description: str | None
    banner: str | None
    logo: str | None
    links: str | None
    is_verified: int


class CollectionRow(CollectionFactsRow):
    metadata: str | None
    describe_at: str | None
    describe_attempts: int
    read_at: str | None
    attempts: int
    retry_at: str
    sort_name: str
    number: int
    traits_version: int
    ranked_version: int
    is_hidden: int
    is_imitation: int


class CollectionOnSaleRow(CollectionFactsRow):
    is_hidden: int
    floor_price: int | None
    owners: int


class OwnerRow(TypedDict):
    key: int  # its place in the order
    account_id: str
    nfts: int


class FoundCollectionRow(TypedDict):
    key: int | str  # its place in the requested order
    token: str
    name: str | None
    symbol: str | None
    listed: int
    is_verified: int
    floor_price: int | None
    volume_24h: int
    image: str | None


class TraitRow(TypedDict):
    type: str
    value: str
    serial_no: int


class UnrankedRow(TypedDict):
    serial_no: int
    unranked: str


class TraitValueRow(TypedDict):
    type: str
    value: str
    count: int
    listed: int
    floor_price: int | None


class StoredEventRow(TypedDict):
    id: int
    seen_at: str


class FeedRow(TypedDict):
    """The state of the feed: its epoch, and the oldest and newest id that are stored."""

    epoch: str
    oldest: int  # newest + 1 if there are no events
    newest: int


class EventRow(FeedRow):
    """An event, and the state of the feed when it was read."""

    cursor: str  # epoch and id
    id: int
    kind: str
    token: str
    serial_no: int
    from_account: str | None
    to_account: str | None
    price: int | None
    previous_price: int | None
    transaction_id: str | None
    consensus_at: str | None
    offer_id: str | None
    date: str


class KeptSalesRow(TypedDict):
    sales: int
    volume: int


class SalesRow(TypedDict):
    sales_24h: int
    volume_24h: int
    first_at: str | None


class ListingChangeRow(TypedDict):
    """An event that changes what of a collection is for sale."""

    id: int
    kind: str
    serial_no: int
    price: int | None
    previous_price: int | None
    date: str
    steady_price: int | None  # the same in each row


class SoldRow(TypedDict):
    """An event of a sale, which always has these."""

    id: int
    token: str
    serial_no: int
    from_account: str
    to_account: str
    price: int
    transaction_id: str
    consensus_at: str


class RateRow(TypedDict):
    """An exchange rate: an amount of US cents for an amount of HBAR."""

    read_at: str
    cents: int
    hbar: int


class SalesBySellerRow(TypedDict):
    sales: int
    volume_of_others: int  # without what one account sold


class TradesRow(TypedDict):
    """How many NFTs changed hands, and for how many HBAR in all."""

    number: int
    volume: int


class ListedValueRow(TypedDict):
    """How many NFTs of a part of the order book have a value of a trait."""

    type: str
    value: str
    listed: int


class CollectionFiguresRow(TypedDict):
    """The figures of a collection that the API's list does not have."""

    token: str
    owners: int
    volume: int
    volume_7d: int


class HoldingRow(TypedDict):
    """How many NFTs of a collection an account owns."""

    token: str
    name: str | None
    owned: int
    listed: int
    floor_price: int | None


class WebhookRow(TypedDict):
    id: str
    url: str
    kinds: str
    is_private: int
    secret: str
    delivered_to: int
    failure: str | None
    failed_since: str | None
    due_at: str | None


# Of a prepared transaction. The marketplace pays for a purchase.
Kind = Literal[
    "listing",
    "withdrawal",
    "purchase",
    "offer",
    "acceptance",
    "offer_withdrawal",
]


class PreparedTransactionRow(TypedDict):
    transaction_id: str
    kind: Kind
    account_id: str
    memo: str
    wallet: str
    prepared_at: str
    expires_at: str
    caller: str
    end_user: str
    schedule_id: str | None
    fee_tinybars: int | None
    is_settled: int | None
    is_sold: int | None
    signed: bytes | None
    charged_to: str | None
    unsigned: bytes | None


class PreparedNftRow(PreparedTransactionRow):
    """One NFT of a prepared transaction, and the transaction."""

    token: str
    serial_no: int
    price: int | None
    seller: str | None


OfferState = Literal["open", "closed", "executed", "failed", "withdrawn", "expired"]


class OfferRow(TypedDict):
    schedule_id: str
    token: str
    serial_no: int
    seller: str
    bidder: str
    price: int
    transaction_id: str
    created_at: str
    expires_at: str
    body: bytes
    state: OfferState
    state_at: str
    accepted_at: str | None
    is_covered: int
    covered_at: str | None


class MadeOfferRow(OfferRow):
    """An offer in a list."""

    key: int  # its price, by which the list is sorted
    is_acceptable: int  # whether it can be accepted now, if it is covered


class HeldRow(TypedDict):
    """The use of the fee budget, in tinybars."""

    total: int
    reserved: int


class FollowRow(TypedDict):
    began_at: str
    cursor_at: str
    fresh_at: str
    heartbeat_at: str
    backfilled_to: str | None
    sweep_began_at: str | None
    swept_to: str | None


RecheckKind = Literal["nft", "token", "account", "seller", "offer"]


class RecheckRow(TypedDict):
    kind: RecheckKind
    id: str
    serial_no: int
    changed_at: str
    since: str
    due_at: str
    attempts: int


DecisionKind = Literal["hidden", "blocked", "verified"]


class DecisionRow(TypedDict):
    """What the operator decided."""

    kind: DecisionKind
    id: str
    serial_no: int
    reason: str
    since: str
    is_public: int
    list: str | None
    name: str | None
    symbol: str | None


class ToRankRow(TypedDict):
    token: str
    traits_version: int


class RankingRow(TypedDict):
    token: str
    version: int
    trait_values: str
    ranks: str


class ToApplyRow(TypedDict):
    kind: DecisionKind
    id: str
    serial_no: int


class SuspendedRow(TypedDict):
    """A verified collection that is called something else by now."""

    token: str
    name: str  # when it was verified
    symbol: str
    name_now: str | None
    symbol_now: str | None


class AccessTokenRow(TypedDict):
    hash: str
    name: str
    scopes: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    rate: str | None
    last_used_at: str | None  # the day


class AccessTokenUsageRow(AccessTokenRow):
    replaced_at: str | None


class PropertyRow(TypedDict):
    name: str
    value: bytes
