"""What one account has listed."""

from marketplace import paging, queries
from marketplace.api import Blueprint
from marketplace.db import read
from marketplace.paging import LINK_HEADER
from marketplace.schemas import AccountPathSchema, NftSchema, UserQuerySchema
from marketplace.tokens import require_scope

blp = Blueprint("Users", __name__, description="What one account has listed")


@blp.get("/user/<accountId>/listed")
@require_scope("read")
@blp.path(AccountPathSchema)
@blp.query(UserQuerySchema)
@blp.records(NftSchema(many=True), description="The listed NFTs", headers=LINK_HEADER)
def list_user_listings(account_id, limit, offset, page):
    """List an account's NFTs for sale

    In the order of the order book; an empty array where the account has listed nothing.
    """
    name = f"user/{account_id}"
    if page is None:
        rows = queries.list_listed_by_owner(read(), account_id, limit + 1, offset)
    else:
        position = paging.read_token(page, name)
        rows = queries.list_listed_by_owner_after(read(), account_id, limit + 1, *position)
    return paging.page(rows, limit, name)
