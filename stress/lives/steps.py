"""What happens in a story: a list of steps, drawn from a seed."""

import random
from typing import NamedTuple

from stress.lives.world import ACCOUNTS, NFTS, WIDE_ACCOUNTS, WIDE_NFTS

MOST_LISTED, MOST_MOVED = 20, 10  # by one transaction

# How often each step is drawn.
STEPS = {
    "add": 3, "prepare": 5, "prepare_long_ago": 1, "sign": 6, "sign_elsewhere": 1, "freeze_again": 2,
    "alter": 2, "list_by_other_means": 3, "report": 5, "sell": 3, "approve": 2, "withdraw": 2, "forge": 1,
    "schedule": 1, "update": 2, "delete": 0.3, "wipe": 0.3, "follow": 6, "sync": 0.3, "rebuild": 0.5,
    "prepare_withdrawal": 2, "sign_withdrawal": 3, "prepare_purchase": 4, "sign_purchase": 5,
    "report_trade": 3, "wait": 6, "earn": 1, "outage": 0.5, "round_trip": 0.5, "forget": 0.3,
    "withdraw_several": 1, "list_several": 3, "hand_back": 0.5, "burn": 0.5, "stop_for_long": 0.3,
    "add_several": 1, "prepare_several": 3, "prepare_withdrawals": 1, "prepare_basket": 3,
}  # fmt: skip
# The same in a story of traders: NFTs are listed and bought, again and again.
TRADES = {
    "list_by_other_means": 9, "prepare": 1, "sign": 2, "prepare_withdrawal": 2, "sign_withdrawal": 2,
    "withdraw": 1, "prepare_purchase": 6, "sign_purchase": 6, "report_trade": 3, "report": 1, "sell": 1,
    "follow": 3, "wipe": 0.3, "wait": 4, "earn": 3, "sign_purchase_again": 2, "forget": 0.5,
    "update": 1, "update_often": 0.2, "sell_often": 0.3, "outage": 0.3, "list_several": 4,
    "withdraw_several": 1, "give_several": 1, "buy_several": 3, "prepare_basket": 4,
    "buy_basket": 2, "prepare_several": 1, "prepare_withdrawals": 1,
}  # fmt: skip
# In a story of baskets: several NFTs are bought at once, whose prices and owners change meanwhile.
BASKETS = {
    "prepare_basket": 6, "sign_purchase": 8, "list_by_other_means": 9, "list_several": 9, "buy_several": 3,
    "buy_basket": 8,
    "prepare_several": 2, "sign": 2, "prepare_withdrawals": 1, "sign_withdrawal": 1, "withdraw": 1, "sell": 1,
    "forge": 0.3, "forget": 1, "follow": 3, "wait": 2, "report_trade": 2, "report": 1, "earn": 1, "update": 1,
    "update_often": 0.1, "sign_purchase_again": 1, "stop_for_long": 0.2, "sync": 0.3,
}  # fmt: skip
# In a story of endings: NFTs are listed, and soon are not for sale, or not there any more.
ENDINGS = {
    "list_by_other_means": 8, "approve": 3, "withdraw": 2, "withdraw_several": 4, "update": 2, "sell": 3,
    "round_trip": 3, "hand_back": 2, "burn": 2, "wipe": 2, "new_treasury": 2, "prepare_purchase": 3,
    "sign_purchase": 3, "follow": 6, "wait": 4, "add": 1, "delete": 0.2, "report_trade": 1,
    "list_and_end": 4, "list_several": 4, "list_several_and_end": 4, "give_several": 2,
    "buy_several": 1, "prepare_basket": 4, "prepare_several": 1, "prepare_withdrawals": 2, "sign": 1,
    "sign_withdrawal": 2,
}  # fmt: skip
# In a story of newcomers: NFTs are added after something has just happened to them.
NEWCOMERS = {
    "sell": 4, "list_by_other_means": 8, "add": 6, "list_and_end": 2, "follow": 5, "wait": 2, "rebuild": 2,
    "prepare_purchase": 3, "sign_purchase": 2, "withdraw": 1, "prepare": 1, "report": 1, "list_several": 3,
    "list_several_and_end": 2, "give_several": 1, "add_several": 3, "prepare_basket": 2,
}  # fmt: skip
# In a story of stops: a watcher begins to follow the ledger, for the first time or after a long stop.
STOPS = {
    "list_by_other_means": 8, "withdraw": 2, "approve": 1, "sell": 2, "stop_for_long": 3, "follow": 6,
    "wait": 4, "outage": 2, "prepare_purchase": 2, "sign_purchase": 2, "update_often": 0.1,
    "list_several": 4, "list_several_and_end": 2, "prepare_basket": 2, "buy_several": 1,
}  # fmt: skip
# In a wide story: many NFTs of five sellers are listed and bought, up to twenty and ten at once.
WIDE = {
    "prepare_basket": 6, "sign_purchase": 6, "buy_basket": 8, "buy_several": 3, "list_several": 12,
    "list_by_other_means": 4, "prepare_several": 3, "sign": 3, "prepare_withdrawals": 2, "sign_withdrawal": 2,
    "withdraw_several": 1, "give_several": 2, "sell": 2, "add_several": 1, "follow": 4, "wait": 3,
    "report_trade": 2, "report": 1, "forget": 0.5, "sync": 0.2, "forge": 0.3, "rebuild": 0.2,
    "list_several_and_end": 2, "sign_purchase_again": 1, "stop_for_long": 0.1,
}  # fmt: skip
# In a story of offers: they are made, signed, accepted and withdrawn; their NFTs and bidders change.
OFFERS = {
    "make_offer": 10, "raise_offer": 5, "sign_offer": 2, "accept_offer": 5, "accept_two": 5, "accept_late": 2,
    "ask_for_offer": 8, "sign_asked": 2, "ask_to_accept": 5, "ask_to_withdraw": 3,
    "withdraw_offer": 3, "forge_offer": 2, "report_offer": 4, "rotate_key": 1, "spend": 3, "top_up": 2,
    "follow": 9, "wait": 4, "sell": 2,
    "round_trip": 1, "give_several": 1, "list_by_other_means": 3, "list_several": 1, "prepare_purchase": 1,
    "sign_purchase": 1, "add": 1, "update": 1, "wipe": 0.2, "hand_back": 0.3, "new_treasury": 0.2,
    "delete": 0.1, "outage": 0.3, "sync": 0.3, "earn": 1, "forget": 0.3, "stop_for_long": 0.2,
}  # fmt: skip
KINDS = {
    "life": (STEPS, 3),
    "trade": (TRADES, 3),
    "basket": (BASKETS, 3),
    "ending": (ENDINGS, 3),
    "newcomer": (NEWCOMERS, 1),
    "stop": (STOPS, 1),
    "wide": (WIDE, 1),
    "offer": (OFFERS, 4),
}


ADDED = ("trade", "basket", "ending", "offer")  # the kinds in which NFTs are added first


class Step(NamedTuple):
    """One action. Its number decides which NFT, which account and which price."""

    name: str
    number: int

    def choose(self, items):
        return items[self.number % len(items)]

    def choose_some(self, items, most: int = MOST_LISTED):
        """Some of the items, at least one, in any order."""
        dice = random.Random(self.number)
        return dice.sample(items, dice.randint(1, min(len(items), most)))

    @property
    def price(self) -> int:
        return (1, 10, 1000, 1 + self.number % 997)[self.number // 7 % 4]


def kind_of(seed: str) -> str:
    weights = [weight for _, weight in KINDS.values()]
    return random.Random(f"kind {seed}").choices(list(KINDS), weights)[0]


def cast_of(seed: str):
    """The NFTs of a story, all accounts in it, and those that own NFTs at first."""
    if kind_of(seed) == "wide":
        return WIDE_NFTS, WIDE_ACCOUNTS, WIDE_ACCOUNTS[:5]
    return NFTS, ACCOUNTS, ACCOUNTS[:2]


def draw(seed: str) -> list[Step]:
    """Draw a story. The first steps make sure that something can happen."""
    dice, kind = random.Random(f"story {seed}"), kind_of(seed)
    steps, _ = KINDS[kind]
    names = dice.choices(list(steps), steps.values(), k=dice.randint(4, 24))
    if kind == "life":
        names = ["add", "prepare"] * (dice.random() < 0.9) + names
        start = []
    elif kind == "wide":
        start = [Step("add_several", dice.randrange(10**6)) for _ in range(6)]
        start += [Step("list_several", dice.randrange(10**6)) for _ in range(12)]
    else:
        added = [
            position for position in range(len(NFTS)) if kind == "basket" or dice.random() < 0.8
        ]
        start = [Step("add", position) for position in added if kind in ADDED]
        start += [Step("list_by_other_means", dice.randrange(10**6)) for _ in NFTS]
    if kind == "offer":
        names = ["make_offer", "make_offer", "raise_offer", "follow", *names]
    return start + [Step(name, dice.randrange(10**6)) for name in names]
