"""The statements that list what is for sale, page by page.

A page begins after a position: the key of its order, the token and the serial number of the last NFT of the
page before.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from functools import cache

from marketplace.store.rows import Connection, NftRow, PositionRow
from marketplace.store.traits import count_with_trait

NO_TRAITS: Mapping[str, Sequence[str]] = {}


@cache
def _newest(columns: str, limit: str, is_after: bool, of_owner: bool) -> str:
    # The newest listings: of all accounts or of one, from the first or after a position.
    after = """
          AND listed_order <= :key
          AND (listed_order < :key OR (token, serial_no) > (:token, :serial_no))"""
    return f"""
        SELECT {columns} FROM nft
        WHERE is_for_sale = 1 {"AND owner = :owner" if of_owner else ""} {after if is_after else ""}
        ORDER BY listed_order DESC, token, serial_no
        LIMIT {limit}
    """


def list_newest(
    db: Connection,
    limit: int,
    after: Sequence[str | int] | None = None,
    owner: str | None = None,
) -> list[NftRow]:
    sql = _newest("*", ":limit", after is not None, owner is not None)
    key, token, serial_no = after or ("", "", 0)
    parameters = {
        "limit": limit, "owner": owner, "key": key, "token": token, "serial_no": serial_no
    }  # fmt: skip
    return db.execute(sql, parameters).fetchall()


def get_position(db: Connection, offset: int, owner: str | None = None) -> PositionRow | None:
    """Find the position after which the page at an offset begins."""
    # Read in the index alone, where PostgreSQL would fetch whole rows.
    columns = "listed_order, token, serial_no"
    sql = _newest(columns, "1 OFFSET :passed", is_after=False, of_owner=owner is not None)
    return db.execute(sql, {"owner": owner, "passed": offset - 1}).fetchone()


def list_listed_in_collection_after(
    db: Connection, token: str, serial_no: int, limit: int
) -> list[NftRow]:
    # In parts: a collection may have tens of thousands listed.
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1 AND token = :token AND serial_no > :serial_no
        ORDER BY serial_no
        LIMIT :limit
    """
    return db.execute(sql, {"token": token, "serial_no": serial_no, "limit": limit}).fetchall()


# A selection: in any order, of all collections or one, within bounds of the price. Each statement finds the
# keys of a page in an index alone, and then reads its rows.


class Sort(Enum):
    NEWEST = auto()
    CHEAPEST = auto()
    DEAREST = auto()


_SELECTED = {
    # The index of dates holds prices, too. Written so, no planner looks for them in another and sorts all.
    Sort.NEWEST: """
        WITH page AS (
            SELECT listed_order, token, serial_no FROM nft
            WHERE is_for_sale = 1 {of_token}
              AND listing_price - :low >= 0
              AND :high - listing_price >= 0
              AND listed_order <= :key
              AND (listed_order < :key OR ({columns}) > ({position}))
            ORDER BY listed_order DESC, {columns}
            LIMIT :limit OFFSET :offset
        )
        SELECT nft.* FROM page JOIN nft USING (token, serial_no)
        ORDER BY page.listed_order DESC, {read}
    """,
    Sort.CHEAPEST: """
        WITH page AS (
            SELECT listing_price, token, serial_no FROM nft
            WHERE is_for_sale = 1 {of_token}
              AND listing_price <= :high
              AND (listing_price, {columns}) > (:key, {position})
            ORDER BY listing_price, {columns}
            LIMIT :limit OFFSET :offset
        )
        SELECT nft.* FROM page JOIN nft USING (token, serial_no)
        ORDER BY page.listing_price, {read}
    """,
    # In two parts: where very many have one price, each page begins where the last one ended.
    Sort.DEAREST: """
        WITH tied AS (
            SELECT token, serial_no FROM nft
            WHERE is_for_sale = 1 {of_token}
              AND listing_price = :key
              AND ({columns}) > ({position})
            ORDER BY {columns}
            LIMIT :limit
        ), cheaper AS (
            SELECT token, serial_no FROM nft
            WHERE is_for_sale = 1 {of_token}
              AND listing_price >= :low
              AND listing_price < :key
            ORDER BY listing_price DESC, {columns}
            LIMIT :limit OFFSET :offset
        ), page AS (
            SELECT * FROM tied UNION ALL SELECT * FROM cheaper
        )
        SELECT nft.* FROM page JOIN nft USING (token, serial_no)
        ORDER BY nft.listing_price DESC, {read}
        LIMIT :limit
    """,
}
_OF_ALL = {
    "of_token": "",
    "columns": "token, serial_no",
    "position": ":token, :serial_no",
    "read": "page.token, page.serial_no",
}
_OF_ONE = {
    "of_token": "AND token = :token",
    "columns": "serial_no",
    "position": ":serial_no",
    "read": "page.serial_no",
}
# Of a rare trait its NFTs are looked up; otherwise the order is followed, and each NFT asked for the trait.
RARE = 1000
_HAS_TRAIT = {
    True: """
        AND (token, serial_no) IN (
            SELECT t.token, t.serial_no FROM nft_trait AS t
            WHERE t.token = :token AND t.type = :type_{n} AND t.value IN ({values})
        )""",
    False: """
        AND EXISTS (
            SELECT 1 FROM nft_trait AS t
            WHERE t.token = nft.token AND t.type = :type_{n} AND t.value IN ({values})
              AND t.serial_no = nft.serial_no
        )""",
}


@cache
def _selected(sort: Sort, in_collection: bool) -> str:
    return _SELECTED[sort].format_map(_OF_ONE if in_collection else _OF_ALL)


def list_selected(
    db: Connection,
    sort: Sort,
    in_collection: bool,
    low: int,
    high: int,
    after: Sequence[str | int],
    limit: int,
    offset: int,
    traits: Mapping[str, Sequence[str]] = NO_TRAITS,
) -> list[NftRow]:
    """List a page of a selection. The collection is that of the position.

    ``low`` and ``high`` are prices in HBAR, both included. Where nothing was seen yet, the position is one
    before all. ``traits``, in a collection: of each type the values of which an NFT has one.
    """
    key, token, serial_no = after
    parameters = {
        "low": low, "high": high, "key": key, "token": token, "serial_no": serial_no, "limit": limit,
        "offset": offset,
    }  # fmt: skip
    if not traits:
        return db.execute(_selected(sort, in_collection), parameters).fetchall()
    rarest = _find_rare(db, str(token), traits)
    # Beside the lookup, token = :token would lead SQLite to follow the order all the same.
    condition = "" if rarest else _OF_ONE["of_token"]
    for n, (kind, values) in enumerate(traits.items()):
        named = {f"value_{n}_{number}": value for number, value in enumerate(values)}
        parameters |= {f"type_{n}": kind, **named}
        names = ", ".join(f":{name}" for name in named)
        condition += _HAS_TRAIT[kind == rarest].format(n=n, values=names)
    return db.execute(
        _SELECTED[sort].format_map(_OF_ONE | {"of_token": condition}), parameters
    ).fetchall()


def _find_rare(db: Connection, token: str, traits: Mapping[str, Sequence[str]]) -> str | None:
    """The type of the trait that the fewest NFTs have, if it is rare."""
    counts = {
        kind: count_with_trait(db, token, kind, values, RARE) for kind, values in traits.items()
    }
    rarest = min(counts, key=counts.__getitem__)
    return rarest if counts[rarest] < RARE else None
