"""A collection: its facts from the ledger, its listings and its sales."""

import json
from collections.abc import Iterable
from typing import Any

from flask import current_app
from marshmallow import fields

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.cache import cached_query, request_cache
from marketplace.api.fields import CamelCaseSchema, Digits, Flag
from marketplace.api.http import Blueprint
from marketplace.api.paging import BY_NFTS, Page, Position
from marketplace.api.schemas import (
    AccountSchema,
    CollectionPathSchema,
    RequestSchema,
    account_or_null,
    each,
    hbar_or_null,
    image_field,
    integer,
    limit_field,
    moment,
    nested,
    page_field,
    show,
    text,
    token_id,
    total,
)
from marketplace.errors import CollectionNotStored, Hidden
from marketplace.hedera import times
from marketplace.market.collection_facts import list_earned
from marketplace.market.requests import require_collection, require_not_hidden
from marketplace.services import read
from marketplace.store import collection_hours, events, nft_collections, nfts, offers
from marketplace.store.collection_hours import CollectionDay
from marketplace.store.nft_collections import CollectionOnSaleRow, OwnerRow

MAX_DAYS = 366  # of a collection's history


class HistoryQuerySchema(RequestSchema):
    days = Digits("The number of days, with today", 90, high=MAX_DAYS, load_default=90)


class OwnersQuerySchema(RequestSchema):
    limit = limit_field("accounts", 100, 1000)
    page = page_field((BY_NFTS,))


class LastSaleSchema(CamelCaseSchema):
    """The newest sale through this marketplace."""

    price = integer("What the buyer paid, in HBAR", 60)
    date = moment("The sale's consensus time, in UTC")


class FallbackFeeSchema(CamelCaseSchema):
    """The fee that a receiver pays if they pay no price for an NFT."""

    amount = integer("The fee, in tinybars or in the token's smallest unit", 500_000_000)
    token = text("The token in which the fee is paid; null for HBAR", None, nullable=True)


class RoyaltySchema(CamelCaseSchema):
    """A part of the price that the network takes at each sale."""

    collector = text("The account that receives the fee", "0.0.2002", key="accountId")
    numerator = total("Numerator of the royalty's fraction of the price", 5)
    denominator = integer("Denominator of this fraction", 100, minimum=1)
    fallback = nested(
        FallbackFeeSchema,
        "The fee if an NFT is transferred without a price; null for no fee",
        data_key="fallbackFee",
        allow_none=True,
    )


class FixedFeeSchema(CamelCaseSchema):
    """An amount that an NFT's sender pays at each transfer, and a seller at each sale."""

    collector = text("The account that receives the fee", "0.0.2002", key="accountId")
    amount = integer("The fee, in tinybars or in the token's smallest unit", 100_000_000)
    token = text("The token in which the fee is paid; null for HBAR", None, nullable=True)


class NamedCollectionSchema(CamelCaseSchema):
    token = token_id()
    name = text("The collection's name; null if not known", "Tides", nullable=True)
    symbol = text("The collection's symbol; null if not known", "TIDE", nullable=True)
    is_verified = show(
        Flag, "Whether the operator vouches for the collection's name", True, key="verified"
    )


class FiguresSchema(NamedCollectionSchema):
    """The watcher counts the figures of 7 and of 30 days within seconds of an event."""

    listed = total("The number of NFTs for sale here", 10)
    floor_price = hbar_or_null("The lowest price in HBAR; null if nothing is listed", 15)
    floor_price_24h_ago = hbar_or_null(
        "The lowest price 24 hours ago, to the hour; null if nothing was listed, or if it is not known",
        20,
    )
    owners = total("The number of accounts that own a stored NFT of the collection", 7)
    sales = total("The number of sales through this marketplace", 12)
    volume = total("What buyers paid in these sales, in HBAR", 730)
    volume_24h = total("What buyers paid here in the last 24 hours, in HBAR", 115)
    sales_7d = total("The number of sales in the last 7 days, to the hour", 6)
    volume_7d = total("What buyers paid in the last 7 days, in HBAR", 350)
    sales_30d = total("The number of sales in the last 30 days, to the hour", 12)
    volume_30d = total("What buyers paid in the last 30 days, in HBAR", 730)


class EarnedRoyaltySchema(CamelCaseSchema):
    """A royalty, and what it has earned."""

    collector = text("The account that receives the royalty", "0.0.2002", key="accountId")
    numerator = total("Numerator of the royalty's fraction of the price", 5)
    denominator = integer("Denominator of this fraction", 100, minimum=1)
    earned = text("What it brought, in tinybars", "3650000000")


class LinkSchema(CamelCaseSchema):
    """A page on the web."""

    label = text("The link's name", "Discord")
    url = text("The link's http or https URL", "https://discord.com/invite/tides")


class CollectionRecordSchema(FiguresSchema):
    """A collection as last read from the ledger, with its listings and sales here.

    A field that was not read yet is null.
    """

    total_supply = total(
        "The number of NFTs minted and not burned; null if not known", 30, nullable=True
    )
    treasury = account_or_null("The account that receives minted NFTs; null if not known")
    royalties = each(
        RoyaltySchema, "What creators receive at each sale; null if not known", allow_none=True
    )
    fixed_fees = each(
        FixedFeeSchema, "What a seller pays at each sale; null if not known", allow_none=True
    )
    best_offer = hbar_or_null(
        "The highest open and covered offer for one of the NFTs, in HBAR; null if there is none",
        12,
    )
    sales_24h = total("The number of sales in the last 24 hours", 2)
    last_sale = nested(LastSaleSchema, "The newest sale; null if there is none", allow_none=True)
    description = text(
        "The collection's own description (HIP-766); null if there is none", "Seas", nullable=True
    )
    banner = image_field(
        "The optimized banner's URL; null if there is none", "bannerUrl", nullable=True
    )
    logo = image_field("The optimized logo's URL; null if there is none", "logoUrl", nullable=True)
    links = each(
        LinkSchema,
        "The collection's own claims of its web pages: verify a link before you follow it",
    )


class CollectionDaySchema(CamelCaseSchema):
    """A day of a collection, in UTC."""

    date = show(fields.String, "The day", "2026-11-20", format="date")
    floor_price = hbar_or_null(
        "The lowest price in HBAR at the day's end, or now; null if nothing was listed", 15
    )
    sales = total("The number of sales", 2)
    volume = total("What buyers paid, in HBAR", 115)
    lowest_price = hbar_or_null("The lowest price that a buyer paid; null without a sale", 55)
    highest_price = hbar_or_null("The highest price that a buyer paid; null without a sale", 60)


class CollectionOwnerSchema(AccountSchema):
    """An account that owns NFTs of a collection."""

    nfts = total("The number of the collection's stored NFTs that the account owns", 3)


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
    return collection_hours.add_up_days(hours, begin, today)


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


def find_chosen(tokens: Iterable[str]) -> set[str]:
    """Those of these tokens whose collections the pages show."""
    chosen = current_app.config["STOREFRONT_COLLECTIONS"]
    return nft_collections.list_chosen(read(), chosen, tokens)


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
