"""Ranks the NFTs of a collection by rarity: the information content of their traits.

As in OpenRarity, a value weighs -log2(p), where p is the share of NFTs that have it. Lacking a trait that
others have is a value, too. An NFT's weight is the sum of its values' weights, and the heaviest NFT is the
rarest. Numbers and dates weigh nothing. Names and values are compared without case and outer blanks.

Unlike in OpenRarity, the trait count is no trait, all values of a trait weigh (there, only the last), only
NFTs with traits are ranked, and a unique trait alone does not come first. Weights are not divided by the
collection's entropy; this changes no rank.
"""

from __future__ import annotations

import json
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from math import log2
from typing import NamedTuple

from cachetools import LRUCache, cached

from marketplace import services
from marketplace.store import nft_collections, traits
from marketplace.store.database import read
from marketplace.store.rows import TraitRow, TraitValueRow
from marketplace.store.traits import Trait

MAX_ROWS = 200_000  # a collection with more traits is not ranked
# The caches' limits for all collections together: about 32 MB of rankings, and 16 MB of values.
NFTS_KEPT, VALUES_KEPT = 2_000_000, 32_000
VALUE_NFTS = 16  # a value of a ranking takes as much memory as this many NFTs
# Weights are whole multiples of 1 / UNIT, so that their sum does not depend on the order of adding.
UNIT = 10**9
NONE_UNRANKED: Mapping[int, Collection[str]] = {}


class Ranking(NamedTuple):
    """The ranking of the NFTs of a collection that have traits."""

    counts: dict[Trait, int]  # of folded traits
    serials: array[int]  # in ascending order
    ranks: array[int]  # of the same NFTs, from 1 for the rarest

    def count(self, trait: Trait) -> int:
        """How many of the ranked NFTs have a trait."""
        return self.counts.get(_fold(trait), 0)

    def find_rank(self, serial_no: int) -> int | None:
        """The rank of an NFT; None for an NFT without traits."""
        place = bisect_left(self.serials, serial_no)
        is_ranked = place < len(self.serials) and self.serials[place] == serial_no
        return self.ranks[place] if is_ranked else None

    @property
    def size(self) -> int:
        return 1 + len(self.serials) + VALUE_NFTS * len(self.counts)


NOTHING_RANKED = Ranking({}, array("q"), array("q"))


def rank_collection(token: str) -> Ranking:
    """Rank a collection, once per change of its traits. Skips a collection with too many traits."""
    collection = nft_collections.get_collection(read(), token)
    if collection is None:
        return NOTHING_RANKED
    return _rank_version(services.database().name, token, collection["traits_version"])


def list_values(token: str) -> list[TraitValueRow]:
    """List a collection's most frequent values, read once after each change of its traits or listings."""
    collection = nft_collections.get_collection(read(), token)
    if collection is None:
        return traits.list_trait_values(read(), token)
    versions = collection["traits_version"], collection["listings_version"]
    return _list_version(services.database().name, token, versions)


# One thread computes each value; the others wait for it.
@cached(LRUCache(NFTS_KEPT, lambda ranking: ranking.size), condition=threading.Condition())
def _rank_version(database: str, token: str, traits_version: int) -> Ranking:
    rows = traits.list_traits(read(), token, MAX_ROWS + 1)
    if len(rows) > MAX_ROWS:
        return NOTHING_RANKED
    unranked = traits.list_unranked(read(), token)
    types = {row["serial_no"]: json.loads(row["unranked"]) for row in unranked}
    return rank(rows, {number: [*map(traits.normalise, named)] for number, named in types.items()})


@cached(LRUCache(VALUES_KEPT, lambda rows: 1 + len(rows)), condition=threading.Condition())
def _list_version(database: str, token: str, versions: tuple[int, int]) -> list[TraitValueRow]:
    return traits.list_trait_values(read(), token)


def forget() -> None:
    """Empty the caches, for tests: they know a database by its name."""
    _rank_version.cache_clear()
    _list_version.cache_clear()


def rank(rows: list[TraitRow], unranked: Mapping[int, Collection[str]] = NONE_UNRANKED) -> Ranking:
    """Rank the NFTs that have these traits. ``unranked``: by serial number, the types that weigh nothing."""
    holders: dict[Trait, set[int]] = defaultdict(set)
    weighed: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    fold = cache(_fold)
    for row in rows:
        serial_no, (kind, value) = row["serial_no"], fold((row["type"], row["value"]))
        holders[kind, value].add(serial_no)
        if row["type"] not in unranked.get(serial_no, ()):
            weighed[kind][value].add(serial_no)
    weights = dict.fromkeys((row["serial_no"] for row in rows), 0)
    for values in weighed.values():
        having = set[int]().union(*values.values())
        # Subtract the lack's weight from holders, instead of adding it to others: the ranking is the same.
        lacking = _weigh(len(weights) - len(having), len(weights))
        for serial_no in having:
            weights[serial_no] -= lacking
        for serials in values.values():
            weight = _weigh(len(serials), len(weights))
            for serial_no in serials:
                weights[serial_no] += weight
    counts = {trait: len(serials) for trait, serials in holders.items()}
    heaviest_last = sorted(weights.values())
    ranked = sorted(weights)
    ranks = [len(ranked) - bisect_right(heaviest_last, weights[each]) + 1 for each in ranked]
    return Ranking(counts, array("q", ranked), array("q", ranks))


def _fold(trait: Trait) -> Trait:
    """A trait as it is compared: without case and outer blanks."""
    kind, value = trait
    return kind.strip().casefold(), value.strip().casefold()


def _weigh(having: int, total: int) -> int:
    return round(-log2(having / total) * UNIT) if having else 0
