"""Ranks the NFTs of a collection by rarity: the information content of their traits.

As in OpenRarity, a value that a share p of the NFTs has weighs -log2(p). The lack of a trait that others have
is a value, too. An NFT weighs the sum of its values, and the heaviest NFT is the rarest. Two rules of
OpenRarity are left out: the number of traits as a trait of its own, and unique NFTs first.
"""

import threading
from bisect import bisect_right
from collections import defaultdict
from math import log2
from typing import NamedTuple

from cachetools import LRUCache, cached

from marketplace import services
from marketplace.store import nft_collections, traits
from marketplace.store.database import read
from marketplace.store.rows import TraitRow
from marketplace.store.traits import Trait

MAX_ROWS = 200_000  # a collection with more traits is not ranked
RANKINGS_KEPT = 8
# Weights are whole multiples of 1 / UNIT, so that their sum does not depend on the order of adding.
UNIT = 10**9


class Ranking(NamedTuple):
    """The ranking of the NFTs of a collection that have traits."""

    counts: dict[Trait, int]
    weights: dict[int, int]  # by serial number
    in_order: list[int]  # the weights, the lightest first

    def find_rank(self, serial_no: int) -> int | None:
        """The rank of an NFT, from 1 for the rarest; None for an NFT without traits."""
        weight = self.weights.get(serial_no)
        return (
            None if weight is None else len(self.in_order) - bisect_right(self.in_order, weight) + 1
        )


NOTHING_RANKED = Ranking({}, {}, [])


def rank_collection(token: str) -> Ranking:
    """Rank a collection, once after each change of its traits; one with too many traits is not ranked."""
    collection = nft_collections.get_collection(read(), token)
    if collection is None:
        return NOTHING_RANKED
    return _rank_version(services.database().name, token, collection["traits_version"])


@cached(LRUCache(RANKINGS_KEPT), condition=threading.Condition())  # each ranking is made once
def _rank_version(database: str, token: str, traits_version: int) -> Ranking:
    rows = traits.list_traits(read(), token, MAX_ROWS + 1)
    return rank(rows) if len(rows) <= MAX_ROWS else NOTHING_RANKED


def rank(rows: list[TraitRow]) -> Ranking:
    """Rank the NFTs that have these traits."""
    holders: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        holders[row["type"]][row["value"]].append(row["serial_no"])
    weights = dict.fromkeys((row["serial_no"] for row in rows), 0)
    for values in holders.values():
        having = {serial_no for serials in values.values() for serial_no in serials}
        # Holders lose the weight of the lack, in place of all others gaining it: the ranking is the same.
        lacking = _weigh(len(weights) - len(having), len(weights))
        for serial_no in having:
            weights[serial_no] -= lacking
        for serials in values.values():
            weight = _weigh(len(serials), len(weights))
            for serial_no in serials:
                weights[serial_no] += weight
    counts = {
        (kind, value): len(each) for kind, of in holders.items() for value, each in of.items()
    }
    return Ranking(counts, weights, sorted(weights.values()))


def _weigh(having: int, total: int) -> int:
    return round(-log2(having / total) * UNIT) if having else 0
