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

from marketplace.services import read, services, write
from marketplace.store import traits
from marketplace.store.traits import RankingRow, Trait, TraitRow, TraitValueRow

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
    """The ranking that the watcher has stored last."""
    version = traits.get_ranking_version(read(), token)
    if version is None:
        return NOTHING_RANKED
    return _load_ranks(services().database.name, token, version)


def list_values(token: str) -> list[TraitValueRow]:
    """A collection's most frequent values, as the watcher has stored them last."""
    version = traits.get_ranking_version(read(), token)
    return [] if version is None else _load_values(services().database.name, token, version)


# One thread reads each; the others wait for it.
@cached(LRUCache(NFTS_KEPT, lambda ranking: ranking.size), condition=threading.Condition())
def _load_ranks(database: str, token: str, version: int) -> Ranking:
    row = traits.get_ranking(read(), token)
    if row is None:
        return NOTHING_RANKED
    counts, serials, ranks = json.loads(row["ranks"])
    by_trait = {(kind, value): count for kind, value, count in counts}
    return Ranking(by_trait, array("q", serials), array("q", ranks))


@cached(LRUCache(VALUES_KEPT, lambda rows: 1 + len(rows)), condition=threading.Condition())
def _load_values(database: str, token: str, version: int) -> list[TraitValueRow]:
    row = traits.get_ranking(read(), token)
    values: list[TraitValueRow] = json.loads(row["trait_values"]) if row else []
    return values


def forget() -> None:
    """Empty the caches, for tests: they know a database by its name."""
    _load_ranks.cache_clear()
    _load_values.cache_clear()


def store_ranking(token: str, version: int) -> None:
    """Count a collection's traits, rank its NFTs, and store both. Ranks none if there are too many traits."""
    rows, ranking = traits.list_traits(read(), token, MAX_ROWS + 1), NOTHING_RANKED
    if len(rows) <= MAX_ROWS:
        unranked = traits.list_unranked(read(), token)
        types = {row["serial_no"]: json.loads(row["unranked"]) for row in unranked}
        ranking = rank(
            rows, {number: [*map(traits.normalise, named)] for number, named in types.items()}
        )
    counts = [[*trait, count] for trait, count in ranking.counts.items()]
    row: RankingRow = {
        "token": token,
        "version": version,
        "trait_values": json.dumps([{**each} for each in traits.list_trait_values(read(), token)]),
        "ranks": json.dumps([counts, [*ranking.serials], [*ranking.ranks]]),
    }
    with write() as db:
        traits.mark_ranking(db, row)


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
