"""The listings of one account."""

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.orderbook import read_newest
from marketplace.api.paging import Page, Position
from marketplace.api.request_schemas import AccountPathSchema, UserQuerySchema
from marketplace.api.response_schemas import NftSchema

blp = Blueprint("Users", __name__, description="What one account has listed")


@blp.get("/user/<accountId>/listed")
@require_scope("read")
@blp.path(AccountPathSchema)
@blp.query(UserQuerySchema)
@blp.rows(NftSchema(many=True), description="The listed NFTs", headers=paging.PAGE_HEADERS)
@paging.with_events_cursor
def list_user_listings(account_id: str, limit: int, offset: int, page: Position | None) -> Page:
    """List an account's NFTs for sale

    In the order of the order book; an empty array where the account has listed nothing.
    """
    return paging.page(read_newest(limit + 1, offset, page, account_id), limit)
