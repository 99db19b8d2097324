"""What one account has listed."""

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.paging import LINK_HEADER, Position
from marketplace.api.request_schemas import AccountPathSchema, UserQuerySchema
from marketplace.api.response_schemas import NftSchema
from marketplace.store import orderbook
from marketplace.store.database import read

blp = Blueprint("Users", __name__, description="What one account has listed")


@blp.get("/user/<accountId>/listed")
@require_scope("read")
@blp.path(AccountPathSchema)
@blp.query(UserQuerySchema)
@blp.rows(NftSchema(many=True), description="The listed NFTs", headers=LINK_HEADER)
def list_user_listings(account_id, limit, offset, page):
    """List an account's NFTs for sale

    In the order of the order book; an empty array where the account has listed nothing.
    """
    if offset and page is None:
        row = orderbook.get_position_by_owner(read(), account_id, offset)
        if row is None:
            return []
        page = Position.of(row)
    if page is None:
        rows = orderbook.list_listed_by_owner(read(), account_id, limit + 1)
    else:
        rows = orderbook.list_listed_by_owner_after(read(), account_id, limit + 1, *page)
    return paging.page(rows, limit)
