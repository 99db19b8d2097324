"""A month of trade with the sample: who listed, bought, withdrew and gave which NFT, and when. Pure."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from marketplace.hedera.ids import NftId

DAYS = 30
OWNERS = ("0.0.1001", "0.0.1002", "0.0.1004", "0.0.1005", "0.0.1006")
VISITOR = "0.0.2007"  # owns a few, whoever looks at the demo first
PRICES = (15, 25, 40, 60, 90, 120, 150, 200, 250, 320, 400, 550, 750, 1000, 1500, 2400)
LISTED_EVERY = 3
SOLD, SOLD_AGAIN, WITHDRAWN = 26, 7, 6
HOUR = 1 / 24  # in days


class Deed(NamedTuple):
    """What one account did once, with one signature."""

    kind: str  # list, withdraw, buy or give
    days_ago: float
    account: str  # signs it; buys, or else owns the NFTs
    nfts: Sequence[NftId]
    prices: Sequence[int] = ()  # HBAR, of each NFT
    others: Sequence[str] = ()  # the seller of each NFT, or whoever is given it


def first_owner(nft: NftId) -> str:
    return random.Random(f"owner of {nft.token}/{nft.serial_no}").choice(OWNERS)


def draw(sample: Sequence[NftId]) -> list[Deed]:
    """All deeds, in their order. At the end a third of the sample is listed, and two of the visitor's."""
    listed = [*sample[::LISTED_EVERY]]
    random.Random("order of listing").shuffle(listed)
    others = [nft for nft in sample if nft not in {*listed}]
    random.Random("order of trade").shuffle(others)
    deeds = [*_list_for_good(listed), *_trade(others)]
    return sorted(deeds, key=lambda deed: -deed.days_ago)


def _price(nft: NftId) -> int:
    return random.Random(f"price of {nft.token}/{nft.serial_no}").choice(PRICES)


def _list_for_good(nfts: Sequence[NftId]) -> Iterator[Deed]:
    """List NFTs, some of them for a higher price first."""
    for position, nft in enumerate(nfts):
        owner, price = first_owner(nft), _price(nft)
        days_ago = DAYS * (len(nfts) - position) / len(nfts)
        if position % 5 == 2:
            earlier = (days_ago + DAYS) / 2
            yield Deed("list", earlier, owner, [nft], [price * 5 // 4])
        yield Deed("list", days_ago, owner, [nft], [price])


def _trade(nfts: Sequence[NftId]) -> Iterator[Deed]:
    chance, rest = random.Random("a month of trade"), iter(nfts)
    for number in range(SOLD):
        nft = next(rest)
        # From one on the first day to one in the last hours, so that each figure has something to show.
        days_ago = 2 * HOUR + (DAYS - 3) * (1 - number / (SOLD - 1))
        sale = _sell(chance, nft, first_owner(nft), _price(nft), days_ago)
        yield from sale
        if number < SOLD_AGAIN:
            yield from _sell(chance, nft, sale[-1].account, _price(nft) * 6 // 5, days_ago / 3)
    for _ in range(WITHDRAWN):
        nft, days_ago = next(rest), chance.uniform(4, DAYS)
        yield Deed("list", days_ago, first_owner(nft), [nft], [_price(nft)])
        yield Deed("withdraw", days_ago - chance.uniform(1, 3), first_owner(nft), [nft])
    yield from _serve_visitor(chance, [*rest])


def _sell(
    chance: random.Random, nft: NftId, seller: str, price: int, days_ago: float
) -> list[Deed]:
    buyer = chance.choice([owner for owner in OWNERS if owner != seller])
    waits = chance.uniform(3 * HOUR, 2)
    return [
        Deed("list", days_ago + waits, seller, [nft], [price]),
        Deed("buy", days_ago, buyer, [nft], [price], [seller]),
    ]


def _serve_visitor(chance: random.Random, nfts: Sequence[NftId]) -> Iterator[Deed]:
    """Give the visitor two NFTs. She buys one alone, two of two sellers at once, and lists two of them."""
    first, second, bought, one = nfts[:4]
    other = next(nft for nft in nfts[4:] if first_owner(nft) != first_owner(one))
    yield Deed("give", 26, first_owner(first), [first], others=[VISITOR])
    yield Deed("give", 12, first_owner(second), [second], others=[VISITOR])
    for nft, days_ago in ((bought, 21), (one, 11), (other, 10)):
        yield Deed("list", days_ago, first_owner(nft), [nft], [_price(nft)])
    yield Deed("buy", 20, VISITOR, [bought], [_price(bought)], [first_owner(bought)])
    basket = [one, other]
    yield Deed("buy", 8, VISITOR, basket, [*map(_price, basket)], [*map(first_owner, basket)])
    yield Deed("list", 5, VISITOR, [first], [_price(first)])
    yield Deed("list", 1.5, VISITOR, [one], [_price(one) * 4 // 3])
