"""Finds collections, NFTs and accounts by the text that people type."""

import re
from typing import Any, NamedTuple

from flask import current_app
from marshmallow import ValidationError, validates_schema

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.cache import request_cache
from marketplace.api.fields import CamelCaseSchema, Choice, PagePosition, TrueOrFalse, Words
from marketplace.api.http import Blueprint
from marketplace.api.nft_collections import FiguresSchema
from marketplace.api.nfts import NftSchema
from marketplace.api.paging import BY_NAME, Page, Position
from marketplace.api.schemas import (
    AccountSchema,
    RequestSchema,
    chosen_field,
    each,
    image_field,
    limit_field,
    page_field,
    total,
)
from marketplace.hedera import times
from marketplace.hedera.ids import MAX_INT64, is_entity_id
from marketplace.market.names import find_words, read_query
from marketplace.services import read
from marketplace.store import collection_search, nfts
from marketplace.store.collection_search import BY_SALES, BY_VOLUME, MAX_WORDS, FoundCollectionRow
from marketplace.store.nft_collections import Chosen
from marketplace.store.nfts import NftRow

COLLECTION_SORTS = (
    "volume24h",
    "volume7d",
    "volume30d",
    "-volume",
    "sales7d",
    "sales30d",
    "owners",
    "floorPrice",
    "floorPrice24hAgo",
    "listed",
    BY_NAME,
    "newest",
)
AT_MOST = 10  # results of each kind
NUMBERED = re.compile(r"(.*?)[\s#:/@]+(\d{1,19})\s*")  # words, and a serial number


def verified_field() -> TrueOrFalse:
    return TrueOrFalse("true: only verified collections", True, load_default=False)


class CollectionsQuerySchema(RequestSchema):
    sort = Choice(
        "volume24h, volume7d, volume30d: highest volume of this time first; -volume: of all time; sales7d,"
        " sales30d: most sales of this time first; owners: most owners first; floorPrice, floorPrice24hAgo:"
        " highest first; listed: most NFTs for sale first; name: by name, unknown names first; newest:"
        " highest token number first. Ties by token",
        COLLECTION_SORTS,
        load_default=COLLECTION_SORTS[0],
    )
    q = Words(
        "Words: each must begin a word of the collection's name, symbol or token ID",
        "tid",
        load_default="",
    )
    verified = verified_field()
    only_chosen = chosen_field()
    limit = limit_field("collections", 20, 100)
    page = page_field(COLLECTION_SORTS)

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError if the page came with another order."""
        if query["page"] and query["page"].sort != query["sort"]:
            raise ValidationError(f"must be {PagePosition.expected}: the sort it came with", "page")


class SearchQuerySchema(RequestSchema):
    q = Words("Words, words and a serial number, or an ID", "tides 7", required=True)
    verified = verified_field()
    only_chosen = chosen_field()


class FoundCollectionSchema(FiguresSchema):
    """A collection in a list."""

    image = image_field(
        "The URL of an image of one of the cheapest NFTs for sale, or else of one of the first NFTs; null if"
        " there is none",
        nullable=True,
    )


class FoundAccountSchema(AccountSchema):
    """An account that has stored NFTs."""

    listed = total("The number of its NFTs for sale here", 4)


class FoundSchema(CamelCaseSchema):
    """The results of a search: at most 10 of each."""

    collections = each(FoundCollectionSchema, "The collections, as in /v1/collections")
    nfts = each(NftSchema, "The NFTs, if the query ends with a serial number")
    accounts = each(
        FoundAccountSchema,
        "The account, if the query is an account's ID and one of its NFTs is stored",
    )


class Which(NamedTuple):
    """Among which collections is searched."""

    only_verified: bool
    chosen: Chosen


blp = Blueprint("Search", __name__, description="Find collections, NFTs and accounts")


@blp.get("/collections")
@require_scope("read")
@blp.arguments(CollectionsQuerySchema, location="query")
@blp.response(
    200,
    FoundCollectionSchema(many=True),
    description="A page of collections",
    headers=paging.LINK_HEADER,
)
def list_collections(
    sort: str, q: str, limit: int, page: Position | None, verified: bool, only_chosen: bool
) -> Page[FoundCollectionRow]:
    """List collections

    Returns all collections with a stored NFT. If more follow, the Link header leads to the next page. A
    collection that moves while you read the pages may appear on two pages, or on none. A collection whose
    name looks like a verified collection's name comes last in every order.
    """
    words = find_words(read_query(q), limit=MAX_WORDS)
    if q.strip() and not words:  # it has no letters, so nothing has its words
        return paging.page([], limit, sort)
    after = page and (page.key, page.entity_id)
    which = _select(verified, only_chosen)
    rows = _find_collections(which, words, limit + 1, sort, after)
    return paging.page(rows, limit, sort)


@blp.get("/search")
@require_scope("read")
@blp.arguments(SearchQuerySchema, location="query")
@blp.response(200, FoundSchema, description="What was found")
def search_marketplace(q: str, verified: bool, only_chosen: bool) -> dict[str, Any]:
    """Search collections, NFTs and accounts

    Finds collections by words or an ID, NFTs by a collection and a serial number ("tides 7", "Tides #7",
    "0.0.5001@7"), and an account by its ID. Returns up to 10 of each kind. Collections with the highest
    volume come first.
    """
    q = read_query(q)
    words = find_words(q, limit=MAX_WORDS)
    which = _select(verified, only_chosen)
    found = _find_collections(which, words, AT_MOST, BY_VOLUME) if words else []
    return {
        "collections": found,
        "nfts": _find_nfts(which, q),
        "accounts": _find_accounts(q.strip()),
    }


def _select(only_verified: bool, only_chosen: bool) -> Which:
    chosen = current_app.config["STOREFRONT_COLLECTIONS"] if only_chosen else ()
    return Which(only_verified, chosen)


def _find_collections(
    which: Which,
    words: list[str],
    limit: int,
    sort: str,
    after: tuple[int | str, str] | None = None,
) -> list[FoundCollectionRow]:
    since = times.to_iso(times.now() - times.DAY)
    rows = collection_search.list_found_collections(
        read(), sort, words, since, after, limit, *which
    )
    if sort == BY_SALES or any(row["volume_24h"] for row in rows):
        first = collection_search.get_first_sale_since(read(), since)
        if first:  # then this sale is older than 24 hours
            request_cache().until = times.to_nanoseconds(first) + times.DAY
    return rows


def _find_nfts(which: Which, q: str) -> list[NftRow]:
    numbered = NUMBERED.fullmatch(q)
    words = find_words(numbered[1], limit=MAX_WORDS) if numbered else []
    if not numbered or not words or not 1 <= int(numbered[2]) <= MAX_INT64:
        return []
    return collection_search.list_found_nfts(read(), words, int(numbered[2]), AT_MOST, *which)


def _find_accounts(q: str) -> list[dict[str, Any]]:
    if not is_entity_id(q) or not nfts.list_nfts_of_owner(read(), q, None, ("", 0), 1):
        return []
    return [{"account_id": q, "listed": nfts.count_listed_of_owner(read(), q)}]
