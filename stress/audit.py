"""Audits the sandbox's ledger: each NFT that the marketplace moved must have been paid for, with its price.

It uses what is on the ledger, and nothing of the service: what owners signed, what was moved, who paid whom.
"""

import base64
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby, product
from types import MappingProxyType
from typing import NamedTuple

from hiero_sandbox.database import read
from hiero_sandbox.ledger import records
from hiero_sandbox.mirror import rows
from marketplace.hedera import times

TINYBARS = 100_000_000
LISTING = re.compile(
    r"Listing NFT with (?:.* and )?Serial Number [0-9]+ for ([0-9]+) HBAR(?: on .*)?"
)
BULK_LISTING = re.compile(r"Listing NFTs of ([0-9.]+) for ([0-9]+) HBAR each(?: on .*)?")


class Event(NamedTuple):
    """What a transaction did to one NFT."""

    nft: tuple[str, int]
    moment: int  # consensus timestamp, in nanoseconds
    document: dict  # the row of the NFT's history
    transaction: dict  # the whole transaction

    @property
    def payer(self) -> str:
        return self.transaction["transaction_id"].partition("-")[0]

    @property
    def valid_from(self) -> int:
        return times.from_consensus(self.transaction["valid_start_timestamp"])

    @property
    def paid(self) -> Counter:
        """How it changed the balance of each account, in tinybars, without staking rewards."""
        amounts = Counter()
        for transfer in self.transaction["transfers"]:
            amounts[transfer["account"]] += transfer["amount"]
        for reward in self.transaction["staking_reward_transfers"]:
            amounts[reward["account"]] -= reward["amount"]
        return amounts

    def collected_by(self, account_id: str) -> int:
        """The fees in tinybars that it brought an account, which are in what it paid."""
        return sum(
            fee["amount"]
            for fee in self.transaction.get("assessed_custom_fees", [])
            if (fee["collector_account_id"], fee["token_id"]) == (account_id, None)
        )


class Asked(NamedTuple):
    """A price that an owner signed, in HBAR, and when it began and ended."""

    owner: str
    price: int
    begin: int
    end: int | None = None


class Moved(NamedTuple):
    """What the marketplace did to one NFT, and the prices in HBAR that its owner had asked for."""

    event: Event
    asked: list[int]

    @property
    def seller(self) -> str:
        return self.event.document["sender_account_id"]


class Sale(NamedTuple):
    """An NFT that the marketplace moved, for which price, and what was wrong with that."""

    nft: tuple[str, int]
    moment: int
    price: int  # tinybars that the buyer paid: for all, if the prices of several are not clear
    fault: str | None


def find_sales(
    ledger,
    market: str,
    *,
    share: int = 0,
    lag: int = 0,
    reported: Mapping[tuple[tuple[str, int], str], int] = MappingProxyType({}),
) -> list[Sale]:
    """Find every sale through the marketplace, and what is wrong with it.

    ``ledger`` is the sandbox's application, ``share`` the marketplace's share in basis points, ``lag`` how
    many nanoseconds a mirror node may have been behind, ``reported`` the prices in HBAR of events by NFT and
    date: each must be one that the owner asked for, and those of one purchase what the buyer paid.
    """
    sql = """
        SELECT * FROM nft_transaction JOIN transaction_record USING (consensus_at)
        ORDER BY token, serial_no, consensus_at
    """
    with ledger.app_context():
        found = read().execute(sql).fetchall()
    events = [_read_event(row) for row in found]
    royalties = {token: _royalties(ledger, token) for token in {event.nft[0] for event in events}}
    moved = [
        move
        for _, history in groupby(events, key=lambda event: event.nft)
        for move in _follow(history, market, lag)
    ]
    moved = [_require_reported(move, reported) for move in moved]
    moved.sort(key=lambda move: move.event.moment)
    return [
        sale
        for _, together in groupby(moved, key=lambda move: move.event.moment)
        for sale in _judge([*together], royalties, share)
    ]


def _read_event(row: sqlite3.Row) -> Event:
    nft, recorded = (row["token"], row["serial_no"]), records.read(row)
    document, transaction = rows.nft_transaction(recorded, *nft), rows.transaction_alone(recorded)
    return Event(nft, row["consensus_at"], document, transaction)


def _require_reported(move: Moved, reported: Mapping[tuple[tuple[str, int], str], int]) -> Moved:
    """Leave only the price that was reported of an NFT, if one was reported: none if nobody asked for it."""
    price = reported.get((move.event.nft, times.to_iso(move.event.moment)))
    return (
        move if price is None else move._replace(asked=[one for one in move.asked if one == price])
    )


def _royalties(ledger, token: str) -> list[tuple[str, int, int]]:
    answer = ledger.test_client().get(f"/api/v1/tokens/{token}")
    return [
        (
            fee["collector_account_id"],
            fee["amount"]["numerator"],
            fee["amount"]["denominator"],
        )
        for fee in answer.json["custom_fees"]["royalty_fees"]
    ]


def _follow(history: Iterator[Event], market: str, lag: int) -> Iterator[Moved]:
    """Follow one NFT: the prices that its owners ask, and what the marketplace did to it.

    It may come back to an owner. A purchase at that owner's earlier price is then valid until it expires.
    """
    asked: list[Asked] = []
    for event in history:
        kind = event.document["type"]
        if kind not in ("CRYPTOTRANSFER", "CRYPTOAPPROVEALLOWANCE", "CRYPTODELETEALLOWANCE"):
            continue
        if kind == "CRYPTOTRANSFER" and event.payer == market and event.document["is_approval"]:
            yield Moved(event, _find_asked(event, asked, lag))
        if asked and asked[-1].end is None:
            asked[-1] = asked[-1]._replace(end=event.moment)
        if kind == "CRYPTOTRANSFER":
            continue
        memo = base64.b64decode(event.transaction["memo_base64"] or "").decode()
        price = _read_price(memo, event.nft[0]) if kind == "CRYPTOAPPROVEALLOWANCE" else None
        if price:
            asked.append(Asked(event.payer, price, event.moment))


def _read_price(memo: str, token: str) -> int | None:
    if one := LISTING.fullmatch(memo):
        return int(one[1])
    several = BULK_LISTING.fullmatch(memo)
    return int(several[2]) if several and several[1] == token else None


def _find_asked(event: Event, asked: list[Asked], lag: int) -> list[int]:
    """The prices of its seller that stood when a purchase became valid, or later."""
    valid_from = event.valid_from - lag
    seller = event.document["sender_account_id"]
    return sorted(
        {
            one.price
            for one in asked
            if one.owner == seller and (one.end is None or one.end >= valid_from)
        }
    )


def _judge(together: list[Moved], royalties: dict[str, list], share: int) -> Iterator[Sale]:
    """Judge the NFTs of one transaction: the buyer paid a price of each, and each seller got their part.

    Several choices may have the sum that was paid: one by which each seller got their part counts.
    """
    event = together[0].event
    buyer, paid = event.document["receiver_account_id"], event.paid
    price = event.collected_by(buyer) - paid[buyer]
    judged = [
        _judge_at(choice, together, royalties, share)
        for choice in product(*(move.asked for move in together))
        if sum(choice) * TINYBARS == price
    ]
    if not judged:
        for move in together:
            fault = f"{buyer} paid {price} tinybars; its owner asked for {move.asked} HBAR"
            yield Sale(move.event.nft, event.moment, price, f"{move.event.nft} {fault}")
        return
    yield from next((one for one in judged if not any(sale.fault for sale in one)), judged[0])


def _judge_at(
    prices: tuple[int, ...], together: list[Moved], royalties: dict[str, list], share: int
) -> list[Sale]:
    """Judge the NFTs of one transaction at these prices, in HBAR."""
    event, sales = together[0].event, []
    paid = event.paid
    credits, tokens = Counter(), defaultdict(set)
    for move, hbar in zip(together, prices, strict=True):
        credits[move.seller] += hbar * TINYBARS - hbar * TINYBARS * share // 10_000
        tokens[move.seller].add(move.event.nft[0])
    for move, hbar in zip(together, prices, strict=True):
        seller, nft = move.seller, move.event.nft
        # A royalty is taken once for each seller and token, of everything that the seller gets. Its collector
        # does not owe it.
        taken = sum(
            credits[seller] * numerator // denominator
            for token in tokens[seller]
            for collector, numerator, denominator in royalties[token]
            if collector != seller
        )
        fault, got = None, paid[seller] - event.collected_by(seller)
        if got != credits[seller] - taken:
            fault = f"{nft} {seller} got {got} tinybars of {credits[seller]}, less {taken}"
        sales.append(Sale(nft, event.moment, hbar * TINYBARS, fault))
    return sales
