"""The NFTs of an account: all, those for sale, and what it traded."""

from typing import Any

from marshmallow import validates_schema

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.fields import CamelCaseSchema
from marketplace.api.http import Blueprint
from marketplace.api.nfts import NftSchema, of_token_field, require_own_page, sort_field
from marketplace.api.paging import BY_ID, ORDERS, NftPage, Position
from marketplace.api.schemas import (
    AccountPathSchema,
    RequestSchema,
    each,
    hbar_or_null,
    limit_field,
    offset_field,
    page_field,
    text,
    token_id,
    total,
)
from marketplace.services import read
from marketplace.store import decisions, nfts
from marketplace.store.accounts import COUNTS, list_account_collections
from marketplace.store.orderbook import Selection, list_selected

MAX_COLLECTIONS = 1000  # of an account, in its summary


class UserQuerySchema(RequestSchema):
    limit = limit_field("NFTs", 10, 1000)
    offset = offset_field()
    page = page_field(ORDERS)
    sort = sort_field()
    token = of_token_field()

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        require_own_page(query, "sort and tokenId")


class UserNftsQuerySchema(RequestSchema):
    limit = limit_field("NFTs", 10, 1000)
    page = page_field((BY_ID,))
    token = of_token_field()

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        require_own_page(query, "tokenId")


class AccountCollectionSchema(CamelCaseSchema):
    """A collection of which an account owns, sold or bought NFTs."""

    token = token_id()
    name = text("The collection's name; null if not known", "Tides", nullable=True)
    nfts = total("The number of its stored NFTs that the account owns", 3)
    listed = total("The number of these that are for sale", 1)
    floor_price = hbar_or_null(
        "The collection's lowest price in HBAR; null if nothing is listed", 15
    )
    sales = total("The number of its NFTs that the account sold here", 2)
    sales_volume = total("What buyers paid for these, before fees, in HBAR", 115)
    purchases = total("The number of its NFTs that the account bought here", 1)
    purchases_volume = total("What the account paid for these, in HBAR", 60)


class AccountSummarySchema(CamelCaseSchema):
    """What an account owns, sold and bought."""

    account_id = text("The account's ID", "0.0.1001")
    nfts = total("The number of stored NFTs that the account owns", 3)
    listed = total("The number of these that are for sale", 1)
    floor_value = total("What they cost at their collections' lowest prices, in HBAR", 45)
    sales = total("The number of NFTs that the account sold here", 2)
    sales_volume = total("What buyers paid for these, before fees, in HBAR", 115)
    purchases = total("The number of NFTs that the account bought here", 1)
    purchases_volume = total("What the account paid for these, in HBAR", 60)
    collections = each(
        AccountCollectionSchema,
        "At most 1,000 of its collections: those of which it owns most NFTs come first",
    )


blp = Blueprint("Users", __name__, description="The NFTs that an account holds or lists")


@blp.get("/user/<accountId>/listed")
@require_scope("read")
@blp.arguments(AccountPathSchema, location="path")
@blp.arguments(UserQuerySchema, location="query")
@blp.response(200, NftSchema(many=True), description="The listed NFTs", headers=paging.PAGE_HEADERS)
@paging.with_events_cursor
def list_user_listings(
    account_id: str, limit: int, offset: int, page: Position | None, sort: str, token: str | None
) -> NftPage:
    """List an account's NFTs for sale

    The orders are the order book's. If the account has listed nothing, the array is empty.
    """
    selection = Selection(sort, token, account_id)
    rows = list_selected(read(), selection, limit + 1, offset, page and page.after)
    return paging.page(rows, limit, sort)


@blp.get("/user/<accountId>/summary")
@require_scope("read")
@blp.arguments(AccountPathSchema, location="path")
@blp.response(200, AccountSummarySchema, description="The account's summary")
def get_user_summary(account_id: str) -> dict[str, Any]:
    """Get what an account owns, sold and bought

    Counts the account's stored NFTs, without burned ones, and its trades through this marketplace, by
    collection. Trades are those whose events are kept.
    """
    rows = list_account_collections(read(), account_id, MAX_COLLECTIONS)
    totals: dict[str, Any] = {**rows[0]} if rows else {}
    summary = {name: totals.get(f"all_{name}", 0) for name in COUNTS}
    floor_value = totals.get("floor_value", 0)
    return summary | {"account_id": account_id, "floor_value": floor_value, "collections": rows}


@blp.get("/user/<accountId>/nfts")
@require_scope("read")
@blp.arguments(AccountPathSchema, location="path")
@blp.arguments(UserNftsQuerySchema, location="query")
@blp.response(
    200, NftSchema(many=True), description="The account's NFTs", headers=paging.PAGE_HEADERS
)
@paging.with_events_cursor
def list_user_nfts(
    account_id: str, limit: int, page: Position | None, token: str | None
) -> NftPage:
    """List an account's NFTs

    Returns the account's stored NFTs, for sale or not, by token and serial number, without burned ones. If
    none is stored, the array is empty.
    """
    after = (page.entity_id, page.serial_no) if page else (token or "", 0)
    rows = nfts.list_nfts_of_owner(read(), account_id, token, after, limit + 1)
    return paging.page(rows, limit, BY_ID)


def is_blocked(account_id: str) -> bool:
    """Whether the operator has blocked an account: pages say so."""
    return decisions.get_block(read(), account_id) is not None
