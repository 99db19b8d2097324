"""What one account has listed."""

from marketplace import queries
from marketplace.api import Blueprint
from marketplace.db import read
from marketplace.paging import LINK_HEADER, page
from marketplace.schemas import AccountPathSchema, NftSchema, UserQuerySchema
from marketplace.tokens import require_scope

blp = Blueprint("Users", __name__, description="What one account has listed")


@blp.get("/user/<accountId>/listed")
@require_scope("read")
@blp.path(AccountPathSchema)
@blp.query(UserQuerySchema)
@blp.response(200, NftSchema(many=True), description="The listed NFTs", headers=LINK_HEADER)
def list_user_listings(account_id, limit, offset):
    """List an account's NFTs for sale

    In the order of the order book; an empty array where the account has listed nothing.
    """
    return page(queries.list_listed_by_owner(read(), account_id, limit + 1, offset), limit, offset)
