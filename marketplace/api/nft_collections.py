"""A collection: its facts from the ledger, its listings and its sales."""

import json
from typing import Any

from flask import current_app

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.cache import cached_query, request_cache
from marketplace.api.http import Blueprint
from marketplace.api.paging import Page, Position
from marketplace.api.schemas.common import CollectionPathSchema
from marketplace.api.schemas.nft_collections import (
    CollectionDaySchema,
    CollectionOwnerSchema,
    CollectionRecordSchema,
    EarnedRoyaltySchema,
    HistoryQuerySchema,
    OwnersQuerySchema,
)
from marketplace.errors import CollectionNotStored, Hidden
from marketplace.hedera import times
from marketplace.market.collection_days import CollectionDay, list_days
from marketplace.market.collection_facts import list_earned
from marketplace.market.requests import require_collection, require_not_hidden
from marketplace.services import read
from marketplace.store import collection_hours, events, nft_collections, nfts, offers
from marketplace.store.nft_collections import CollectionOnSaleRow, OwnerRow

blp = Blueprint("Collections", __name__, description="Collections with a stored NFT")


@blp.get("/collection/<tokenId>")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.response(200, CollectionRecordSchema, description="The collection")
@blp.refuses(CollectionNotStored, Hidden)
def get_collection(token: str) -> dict[str, Any]:
    """Get a collection

    The watcher reads name, supply, treasury and fees from the ledger: hourly if an NFT is listed, otherwise
    daily. A field that was not read yet is null. The number of listed NFTs and the lowest price are current.
    Sales are those through this marketplace, since its first recorded event. This call does not ask the
    ledger.
    """
    collection = cached_query(nft_collections.get_collection_on_sale, token)
    if collection is None or collection["is_hidden"]:
        require_not_hidden(token)
        raise CollectionNotStored(token)
    now = times.now()
    sold = cached_query(events.get_sales_since, token, times.to_iso(now - times.DAY))
    moments = []
    if sold["first_at"]:  # then this sale is older than 24 hours
        moments.append(times.to_nanoseconds(sold["first_at"]) + times.DAY)
    best = cached_query(offers.get_best, token, times.to_iso(now))
    if best:
        moments.append(times.to_nanoseconds(best["expires_at"]))
    request_cache().until = min(moments, default=None)
    return _unfold(collection) | dict(sold) | {"best_offer": best and best["price"]}


@blp.get("/collection/<tokenId>/history")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.arguments(HistoryQuerySchema, location="query")
@blp.response(200, CollectionDaySchema(many=True), description="The days, the oldest first")
@blp.refuses(CollectionNotStored, Hidden)
def list_collection_history(token: str, days: int) -> list[CollectionDay]:
    """List a collection's past days

    Returns each day in UTC since the first listing that is known, up to today: the lowest price at its end,
    and the sales through this marketplace. The watcher counts an event within seconds.
    """
    require_not_hidden(token)
    today = times.now() // times.DAY * times.DAY
    begin = today - (days - 1) * times.DAY
    hours = collection_hours.list_hours(read(), token, times.to_iso(begin)[:13])
    require_collection(token, hours)
    request_cache().until = today + times.DAY
    return list_days(hours, begin, today)


@blp.get("/collection/<tokenId>/royalties")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.response(200, EarnedRoyaltySchema(many=True), description="The royalties")
@blp.refuses(CollectionNotStored, Hidden)
def list_collection_royalties(token: str) -> list[dict[str, Any]]:
    """List what a collection's royalties earned

    Returns what each receiver earned by sales through this marketplace, at today's royalties and fees. A
    receiver earns nothing by their own sales, as far as these events are kept. If the royalties are not known
    yet, the array is empty.
    """
    require_not_hidden(token)
    collection = nft_collections.get_collection(read(), token)
    if collection is None or not nfts.is_any_stored_of_token(read(), token):
        raise CollectionNotStored(token)
    return list_earned(collection, current_app.config["SALE_FEE_BASIS_POINTS"])


@blp.get("/collection/<tokenId>/owners")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.arguments(OwnersQuerySchema, location="query")
@blp.response(
    200,
    CollectionOwnerSchema(many=True),
    description="A page of accounts",
    headers=paging.LINK_HEADER,
)
@blp.refuses(CollectionNotStored, Hidden)
def list_collection_owners(token: str, limit: int, page: Position | None) -> Page[OwnerRow]:
    """List a collection's owners

    Returns the accounts that own stored NFTs of the collection, without burned ones. Accounts with the most
    NFTs come first, ties by account. If more follow, the Link header leads to the next page.
    """
    require_not_hidden(token)
    after = page and (int(page.key), page.entity_id)
    rows = nft_collections.list_owners(read(), token, after, limit + 1)
    require_collection(token, rows)
    return paging.page(rows, limit, paging.BY_NFTS)


def _unfold(collection: CollectionOnSaleRow) -> dict[str, Any]:
    """Parse the JSON columns of a row, and make an object of the two columns of the last sale."""
    row: dict[str, Any] = dict(collection)
    price, date = row["last_sale_price"], row["last_sale_at"]
    return row | {
        "royalties": row["royalties"] and json.loads(row["royalties"]),
        "fixed_fees": row["fixed_fees"] and json.loads(row["fixed_fees"]),
        "links": json.loads(row["links"] or "[]"),
        "last_sale": date and {"price": price, "date": date},
    }
