"""The statements that list NFTs for sale, page by page.

A page begins after a position: the key in its order, the token and the serial number of the last NFT of the
previous page.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypedDict

from marketplace.hedera.ids import MAX_HBAR
from marketplace.store.connection import Connection, merge
from marketplace.store.nft_collections import Chosen, write_chosen_condition
from marketplace.store.nfts import NftRow
from marketplace.store.traits import Trait, is_any_with_trait, split_trait


class ListedValueRow(TypedDict):
    """How many NFTs of a part of the order book have a value of a trait."""

    type: str
    value: str
    listed: int
    floor_price: int


NEWEST, CHEAPEST, MOST_EXPENSIVE = "lastListedDate", "price", "-price"
KEYS = {NEWEST: "listed_order", CHEAPEST: "listing_price", MOST_EXPENSIVE: "listing_price"}
# The conditions of the rows after a position. MOST_EXPENSIVE has two parts, so that each page begins where
# the last one ended, even among very many NFTs of one price.
_AFTER = {
    NEWEST: ["AND listed_order <= :key AND (listed_order < :key OR ({ties}) > ({position}))"],
    CHEAPEST: ["AND (listing_price, {ties}) > (:key, {position})"],
    MOST_EXPENSIVE: [
        "AND listing_price = :key AND ({ties}) > ({position})",
        "AND listing_price < :key",
    ],
}


class Selection(NamedTuple):
    """A part of the order book, and its order."""

    sort: str = NEWEST
    token: str | None = None  # of a collection
    owner: str | None = None
    min_price: int = 0  # HBAR, as max_price
    max_price: int = MAX_HBAR
    traits: tuple[str, ...] = ()  # of the collection, each a type, a colon and a value
    chosen: Chosen = ()


ALL = Selection()


def list_selected(
    db: Connection,
    selection: Selection,
    limit: int,
    offset: int = 0,
    after: tuple[str | int, str, int] | None = None,
) -> list[NftRow]:
    """List a page of a selection, from an offset or after a position in it."""
    sort, key = selection.sort, KEYS[selection.sort]
    # If rows are skipped or filtered, finds the page's keys in an index first, and then reads only its rows.
    is_priced = (selection.min_price, selection.max_price) != (0, MAX_HBAR)
    is_skipping = offset > 0 or is_priced or bool(selection.traits or selection.chosen)
    last_key, token, serial_no = after or ("", selection.token, 0)
    parameters: dict[str, object] = {
        "token": token, "owner": selection.owner, "min_price": selection.min_price,
        "max_price": selection.max_price, "key": last_key, "serial_no": serial_no, "limit": limit,
        "offset": 0 if after else offset,
    }  # fmt: skip
    ties, position = "token, serial_no", ":token, :serial_no"
    if selection.token is not None:
        ties, position = "serial_no", ":serial_no"
    order = f"{key} {'ASC' if sort == CHEAPEST else 'DESC'}, {ties}"
    selected = " ".join(_list_conditions(db, selection, parameters, is_after=after is not None))
    parts = [
        f"""
            SELECT {f"{key}, token, serial_no" if is_skipping else "*"} FROM nft
            WHERE is_listed = 1 {selected} {following.format(ties=ties, position=position)}
            ORDER BY {order}
            LIMIT :limit + 0 OFFSET :offset
        """
        for following in (_AFTER[sort] if after else [""])
    ]
    sql = merge(parts, order)
    if is_skipping:
        sql = f"""
            WITH page AS ({sql})
            SELECT nft.* FROM page JOIN nft USING (token, serial_no)
            ORDER BY page.{order.replace(", ", ", page.")}
        """
    return db.execute(sql, parameters).fetchall()


def list_listed_values(
    db: Connection, selection: Selection, kind: str | None = None
) -> list[ListedValueRow]:
    """List the values of traits in a selection of a collection, each with how many listed NFTs have it.

    ``kind``: only values of this type.
    """
    parameters: dict[str, object] = {
        "token": selection.token, "owner": selection.owner,
        "min_price": selection.min_price, "max_price": selection.max_price, "kind": kind,
    }  # fmt: skip
    selected = " ".join(_list_conditions(db, selection, parameters, is_after=False))
    sql = f"""
        SELECT type, value, COUNT(*) AS listed, MIN(listing_price) AS floor_price
        FROM nft JOIN nft_trait USING (token, serial_no)
        WHERE is_listed = 1 {selected} {"" if kind is None else "AND type = :kind"}
        GROUP BY type, value
    """
    return db.execute(sql, parameters).fetchall()


def _list_conditions(
    db: Connection, selection: Selection, parameters: dict[str, object], *, is_after: bool
) -> Iterator[str]:
    """Yield a condition for each field that selects something, and add the parameters of traits."""
    # The index of dates has the prices, too. The plus stops planners from sorting by another index.
    price = "+listing_price" if selection.sort == NEWEST else "listing_price"
    if selection.token is not None:
        yield "AND token = :token"
    if selection.owner is not None:
        yield "AND owner = :owner"
    # Every row after a position satisfies the bound from which its order begins.
    if selection.min_price > 0 and not (is_after and selection.sort == CHEAPEST):
        yield f"AND {price} >= :min_price"
    if selection.max_price < MAX_HBAR and not (is_after and selection.sort == MOST_EXPENSIVE):
        yield f"AND {price} <= :max_price"
    if selection.chosen:
        yield write_chosen_condition(selection.chosen, "nft.token", parameters)
    if selection.traits:
        yield _select_traits(db, selection, parameters)


def _select_traits(db: Connection, selection: Selection, parameters: dict[str, object]) -> str:
    """Write the SQL condition for a collection's traits, and add its parameters."""
    by_type, having = _group_by_type(db, str(selection.token), selection.traits), []
    for n, (kind, values) in enumerate(by_type.items()):
        named = {f"value_{n}_{number}": value for number, value in enumerate(values)}
        parameters |= {f"type_{n}": kind, **named}
        having.append(f"""
            SELECT serial_no FROM nft_trait
            WHERE token = :token AND type = :type_{n} AND value IN ({", ".join(f":{it}" for it in named)})
        """)
    # Builds the set of matching NFTs once. Then follows the order, and looks up each NFT in the set.
    return f"AND serial_no IN ({' INTERSECT '.join(having)})"


def _group_by_type(db: Connection, token: str, traits: Iterable[str]) -> dict[str, list[str]]:
    """The values by type of trait. An NFT must have one of the values of each type."""
    by_type: dict[str, list[str]] = {}
    for kind, value in (find_trait(db, token, trait) for trait in traits):
        by_type.setdefault(kind, []).append(value)
    return by_type


def find_trait(db: Connection, token: str, text: str) -> Trait:
    """The first of a text's possible traits that an NFT of the collection has."""
    first, *others = split_trait(text)
    if not others:
        return first
    held = (way for way in (first, *others) if is_any_with_trait(db, token, *way))
    return next(held, first)


def list_listed_in_collection_after(
    db: Connection, token: str, serial_no: int, limit: int
) -> list[NftRow]:
    # In parts: a collection may have tens of thousands of listings.
    sql = """
        SELECT * FROM nft
        WHERE is_listed = 1 AND token = :token AND serial_no > :serial_no
        ORDER BY serial_no
        LIMIT :limit + 0
    """
    return db.execute(sql, {"token": token, "serial_no": serial_no, "limit": limit}).fetchall()
