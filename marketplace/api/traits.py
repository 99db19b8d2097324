"""The traits of a collection, with their counts; and the traits of an NFT, with its rank."""

from itertools import groupby
from operator import itemgetter
from typing import Any

from marketplace.api.authentication import require_scope
from marketplace.api.blueprint import Blueprint
from marketplace.api.request_schemas import CollectionPathSchema, NftPathSchema
from marketplace.api.response_schemas import NftTraitsSchema, TraitSchema
from marketplace.errors import CollectionNotStored, Hidden, NftNotStored
from marketplace.market.moderation import require_shown
from marketplace.market.rarity import list_values, rank_collection
from marketplace.store import nfts, traits
from marketplace.store.database import read

blp = Blueprint("Traits", __name__, description="What NFTs have in common, and what is rare")


@blp.get("/collection/<tokenId>/traits")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.response(200, TraitSchema(many=True), description="The traits, by name")
@blp.refuses(CollectionNotStored, Hidden)
def list_collection_traits(token: str) -> list[dict[str, Any]]:
    """List a collection's traits

    The values of each trait, the most frequent first: how many stored NFTs that are not burned have it, how
    many of those are for sale, and their lowest price. Only the 1,000 most frequent values are shown.
    """
    require_shown(token)
    rows = list_values(token)
    if not rows and not nfts.is_any_stored_of_token(read(), token):
        raise CollectionNotStored(token)
    by_type = groupby(sorted(rows, key=itemgetter("type")), key=itemgetter("type"))
    return [{"trait_type": kind, "values": [*values]} for kind, values in by_type]


@blp.get("/nft/<tokenId>/<serialNo>/traits")
@require_scope("read")
@blp.arguments(NftPathSchema, location="path")
@blp.response(200, NftTraitsSchema, description="The NFT's traits")
@blp.refuses(NftNotStored, Hidden)
def show_nft_traits(token: str, serial_no: int) -> dict[str, Any]:
    """Show an NFT's traits and its rank

    How many of the collection's ranked NFTs have each trait, and their share. Rank 1 is the rarest. The
    stored NFTs that have traits and are not burned are ranked, by the information content of OpenRarity.
    """
    nft = nfts.get_nft(read(), token, serial_no)
    if nft is None or nft["is_hidden"]:
        require_shown(token, serial_no)
        raise NftNotStored(token, serial_no)
    ranking = rank_collection(token)
    rank, ranked = ranking.find_rank(serial_no), len(ranking.serials)
    with_counts = [
        {"trait_type": kind, "value": value, "count": count, "share": count / max(ranked, 1)}
        for kind, value in (traits.read_traits(nft["attributes"]) if rank else ())
        # None if the traits changed after the ranking.
        if (count := ranking.count((kind, value)))
    ]
    return {**nft} | {"rank": rank, "ranked": ranked, "traits": with_counts}
