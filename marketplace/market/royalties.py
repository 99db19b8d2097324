"""What the royalties of a collection have earned."""

import json
from typing import Any

from marketplace.hedera.hbar import find_credit
from marketplace.services import read
from marketplace.store.accounts import get_volume_of_seller
from marketplace.store.nft_collections import CollectionRow


def list_earned(collection: CollectionRow, fee: int) -> list[dict[str, Any]]:
    """The royalties of today, each with the tinybars that it brought.

    The network takes no royalty of what its receiver sells. ``fee``: the marketplace's, in basis points.
    """
    royalties = json.loads(collection["royalties"] or "[]")
    earned = []
    for royalty in royalties:
        own = get_volume_of_seller(read(), royalty["collector"], collection["token"])
        credit = find_credit(collection["volume"] - own, fee)
        amount = credit * int(royalty["numerator"]) // int(royalty["denominator"])
        earned.append({**royalty, "earned": str(amount)})
    return earned
