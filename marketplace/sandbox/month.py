"""A month of trade with the sample: who listed, bought, gave or offered for which NFT, and when. Pure."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from marketplace.hedera.ids import NftId

DAYS = 30
OWNERS = ("0.0.1001", "0.0.1002", "0.0.1004", "0.0.1005", "0.0.1006")
VISITOR = "0.0.2007"  # owns a few, whoever looks at the demo first
PRICES = (15, 25, 40, 60, 90, 120, 150, 200, 250, 320, 400, 550, 750, 1000, 1500, 2400)
LISTED_EVERY = 3
SOLD, SOLD_AGAIN, WITHDRAWN = 26, 7, 6
BID_EVERY = 12  # of the NFTs that were traded; and for each of the visitor's
BID_DAYS = 6  # the offers of the last days are open
BIDS = range(60, 100, 5)  # percent of a price
OFFER_DAYS = 14  # until an offer expires
HOUR = 1 / 24  # in days


class Deed(NamedTuple):
    """What one account did once, with one signature."""

    kind: str  # list, withdraw, buy or give; offer, accept or retract
    days_ago: float
    account: str  # signs it; buys or bids, or else owns the NFTs
    nfts: Sequence[NftId]
    prices: Sequence[int] = ()  # HBAR, of each NFT
    # The seller of each NFT, or whoever is given it; the owner to whom an offer is made, or its bidder.
    others: Sequence[str] = ()


class Held(NamedTuple):
    """What became of an NFT."""

    owner: str
    price: int | None  # that it is listed for
    days_ago: float


def first_owner(nft: NftId) -> str:
    return random.Random(f"owner of {nft.token}/{nft.serial_no}").choice(OWNERS)


def draw(sample: Sequence[NftId]) -> list[Deed]:
    """All deeds, in order. Afterward, a third of the sample is listed, and two of the visitor's NFTs."""
    listed = [*sample[::LISTED_EVERY]]
    random.Random("order of listing").shuffle(listed)
    others = [nft for nft in sample if nft not in {*listed}]
    random.Random("order of trade").shuffle(others)
    deeds = _sort([*_list_for_good(listed), *_trade(others)])
    return _sort([*deeds, *_bid(find_held(deeds))])


def _sort(deeds: Sequence[Deed]) -> list[Deed]:
    return sorted(deeds, key=lambda deed: -deed.days_ago)


def find_held(deeds: Sequence[Deed]) -> dict[NftId, Held]:
    """Who has which NFT after these deeds, and for which price it is listed."""
    held = {}
    for deed in deeds:
        for number, nft in enumerate(deed.nfts):
            owner = deed.others[number] if deed.kind in ("give", "accept") else deed.account
            price = deed.prices[number] if deed.kind == "list" else None
            held[nft] = Held(owner, price, deed.days_ago)
    return held


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
    left = [*rest]
    yield from _serve_visitor(chance, left)
    yield from _negotiate(left[-1])


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


def _negotiate(nft: NftId) -> Iterator[Deed]:
    """List an NFT, and accept the second offer for it. Its bidder has withdrawn a lower one."""
    owner, price = first_owner(nft), _price(nft)
    bidder, other = [account for account in OWNERS if account != owner][:2]
    low, high, best = price * 3 // 4, price * 4 // 5, price * 9 // 10
    yield Deed("list", 6.5, owner, [nft], [price])
    yield Deed("offer", 5.1, bidder, [nft], [low], [owner])
    yield Deed("offer", 4.2, other, [nft], [high], [owner])
    yield Deed("retract", 3.1, bidder, [nft], [low])
    yield Deed("offer", 3, bidder, [nft], [best], [owner])
    yield Deed("accept", 2.6, owner, [nft], [best], [bidder])


def _bid(held: Mapping[NftId, Held]) -> Iterator[Deed]:
    """Make offers, one or two for an NFT, listed or not."""
    chance = random.Random("a month of offers")
    for position, (nft, last) in enumerate(held.items()):
        if last.owner != VISITOR and position % BID_EVERY:
            continue
        bidders = [account for account in (*OWNERS, VISITOR) if account != last.owner]
        for bidder in chance.sample(bidders, chance.choice((1, 2))):
            days_ago = chance.uniform(HOUR, min(last.days_ago, BID_DAYS))
            price = (last.price or _price(nft)) * chance.choice(BIDS) // 100
            yield Deed("offer", days_ago, bidder, [nft], [price], [last.owner])
