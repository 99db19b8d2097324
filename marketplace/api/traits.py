"""The traits of a collection, with their counts; and the traits of an NFT, with its rank."""

from itertools import groupby
from operator import itemgetter
from typing import Any

from marketplace.api.authentication import require_scope
from marketplace.api.http import Blueprint
from marketplace.api.schemas.common import CollectionPathSchema, NftPathSchema
from marketplace.api.schemas.nfts import NftTraitsSchema, TraitSchema
from marketplace.errors import CollectionNotStored, Hidden, NftNotStored
from marketplace.market.nfts import require_shown
from marketplace.market.rarity import list_values, rank_collection
from marketplace.store import nfts, traits
from marketplace.store.database import read

blp = Blueprint("Traits", __name__, description="Traits and their rarity")


@blp.get("/collection/<tokenId>/traits")
@require_scope("read")
@blp.arguments(CollectionPathSchema, location="path")
@blp.response(200, TraitSchema(many=True), description="The traits, by name")
@blp.refuses(CollectionNotStored, Hidden)
def list_collection_traits(token: str) -> list[dict[str, Any]]:
    """List a collection's traits

    Returns the 1,000 most frequent values, grouped by trait, the most frequent first. Each value has the
    number of stored NFTs with it, without burned ones, the number of those for sale, and their lowest price.
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
    """Get an NFT's traits and rank

    Each trait has the number and the share of the collection's ranked NFTs with this trait. Rank 1 is the
    rarest. Stored NFTs are ranked if they have traits and are not burned, by OpenRarity's information
    content.
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
