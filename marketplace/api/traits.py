"""The traits of a collection, with their counts; and the traits of an NFT, with its rank."""

from itertools import groupby
from operator import itemgetter
from typing import Any

from marshmallow import fields
from marshmallow.validate import Length

from marketplace.api.authentication import require_scope
from marketplace.api.fields import CamelCaseSchema, Digits, Several
from marketplace.api.http import Blueprint
from marketplace.api.nfts import NFTS_AT_ONCE, FilterQuerySchema, find_nft
from marketplace.api.schemas import (
    CollectionPathSchema,
    NftPathSchema,
    RequestSchema,
    each,
    hbar_or_null,
    integer,
    serial_number,
    show,
    text,
    token_id,
    total,
)
from marketplace.errors import CollectionNotStored, Hidden, NftNotStored
from marketplace.market.rarity import list_values, rank_collection
from marketplace.market.requests import require_collection, require_not_hidden
from marketplace.services import read
from marketplace.store import orderbook
from marketplace.store.orderbook import ListedValueRow, Selection
from marketplace.store.traits import TraitValueRow, read_traits


class RanksQuerySchema(RequestSchema):
    serial_nos = Several(
        Digits("An NFT's serial number", 7),
        f"A serial number. Repeat the parameter for up to {NFTS_AT_ONCE} NFTs",
        7,
        data_key="serialNo",
        required=True,
        validate=Length(1, NFTS_AT_ONCE, error="must be given 1 to {max} times"),
    )


class TraitValueSchema(CamelCaseSchema):
    value = text("The value", "Ember")
    count = total("The number of stored NFTs with this value, without burned ones", 6)
    listed = total("The number of NFTs with this value for sale here, within the filters", 2)
    floor_price = hbar_or_null("Their lowest price in HBAR; null if none is for sale", 15)


class TraitSchema(CamelCaseSchema):
    """A trait of a collection's NFTs."""

    trait_type = text("The trait's name", "Palette", "trait_type")
    values = each(TraitValueSchema, "The trait's values, the most frequent first")


class NftTraitSchema(CamelCaseSchema):
    trait_type = text("The trait's name", "Palette", "trait_type")
    value = text("The NFT's value", "Ember")
    count = total("The number of ranked NFTs with this value", 6)
    share = show(fields.Float, "Their share of all ranked NFTs", 0.2, minimum=0, maximum=1)


class NftRankSchema(CamelCaseSchema):
    """How rare an NFT is."""

    serial_no = serial_number()
    rank = integer(
        "1 is the rarest; null if the NFT has no traits, is burned, or its collection is too large",
        3,
        nullable=True,
        minimum=1,
    )


class NftTraitsSchema(NftRankSchema):
    """The traits of an NFT, and how rare it is."""

    token = token_id()
    ranked = total("The number of the collection's ranked NFTs", 30)
    traits = each(NftTraitSchema, "The NFT's traits; empty if the NFT is not ranked")


blp = Blueprint("Traits", __name__, description="Traits and their rarity")


@blp.get("/collection/<tokenId>/traits")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.arguments(FilterQuerySchema, location="query")
@blp.response(200, TraitSchema(many=True), description="The traits, by name")
@blp.refuses(CollectionNotStored, Hidden)
def list_collection_traits(token: str, **filters: Any) -> list[dict[str, Any]]:
    """List a collection's traits

    Returns the 1,000 most frequent values, grouped by trait, the most frequent first. Each value has the
    number of stored NFTs with it, without burned ones, the number of those for sale, and their lowest price.
    With the order book's filters, only NFTs for sale that match them count as such. A value is counted as if
    its trait were not chosen yet, so that it says what choosing it would add.
    """
    require_not_hidden(token)
    rows = list_values(token)
    require_collection(token, rows)
    selection = Selection(token=token, **filters)
    if selection != Selection(token=token):
        rows = _count_selected(rows, selection)
    by_type = groupby(sorted(rows, key=itemgetter("type")), key=itemgetter("type"))
    return [{"trait_type": kind, "values": [*values]} for kind, values in by_type]


def _count_selected(rows: list[TraitValueRow], selection: Selection) -> list[TraitValueRow]:
    """Replace the counts of listed NFTs, and their floors, by those within a selection."""
    db, token = read(), str(selection.token)
    types = {text: orderbook.find_trait(db, token, text)[0] for text in selection.traits}
    counted: dict[str | None, dict[tuple[str, str], ListedValueRow]] = {}
    for kind in {None, *types.values()}:
        others = tuple(text for text in selection.traits if types[text] != kind)
        of_others = orderbook.list_listed_values(db, selection._replace(traits=others), kind)
        counted[kind] = {(row["type"], row["value"]): row for row in of_others}
    replaced: list[TraitValueRow] = []
    for row in rows:
        found = counted.get(row["type"], counted[None]).get((row["type"], row["value"]))
        listed, floor = (found["listed"], found["floor_price"]) if found else (0, None)
        replaced.append({**row, "listed": listed, "floor_price": floor})
    return replaced


@blp.get("/collection/<tokenId>/ranks")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.arguments(RanksQuerySchema, location="query")
@blp.response(200, NftRankSchema(many=True), description="The ranks, in the order of the request")
@blp.refuses(CollectionNotStored, Hidden)
def list_collection_ranks(token: str, serial_nos: tuple[int, ...]) -> list[dict[str, Any]]:
    """List the ranks of a collection's NFTs

    Returns the rarity ranks of up to 100 NFTs, such as those of a page of the order book.
    """
    require_not_hidden(token)
    ranking = rank_collection(token)
    require_collection(token, ranking.serials)
    return [{"serial_no": number, "rank": ranking.find_rank(number)} for number in serial_nos]


@blp.get("/nft/<tokenId>/<serialNo>/traits")
@require_scope("read")
@blp.arguments(NftPathSchema, location="path")
@blp.response(200, NftTraitsSchema, description="The NFT's traits")
@blp.refuses(NftNotStored, Hidden)
def show_nft_traits(token: str, serial_no: int) -> dict[str, Any]:
    """Get an NFT's traits and rank

    Each trait has the number and the share of the collection's ranked NFTs with this trait. Rank 1 is the
    rarest. Stored NFTs are ranked if they have traits and are not burned, by OpenRarity's information
    content.
    """
    nft = find_nft(token, serial_no)
    ranking = rank_collection(token)
    rank, ranked = ranking.find_rank(serial_no), len(ranking.serials)
    with_counts = [
        {"trait_type": kind, "value": value, "count": count, "share": count / max(ranked, 1)}
        for kind, value in (read_traits(nft["attributes"]) if rank else ())
        # None if the traits changed after the ranking.
        if (count := ranking.count((kind, value)))
    ]
    return {**nft} | {"rank": rank, "ranked": ranked, "traits": with_counts}
