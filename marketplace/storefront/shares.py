"""The shares of a price: who pays and who gets what, rounded as the network and the marketplace do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from marketplace.hedera.hbar import TINYBARS, find_credit

ROLES = ("Buyer", "Seller", "Royalty", "Fixed fee", "Marketplace")
Nft = dict[str, Any]


@dataclass(frozen=True)
class Share:
    role: str
    account: str | None
    tinybars: int  # below 0 for what is paid
    units: str = ""  # of a token, in place of HBAR


@dataclass(frozen=True)
class Terms:
    """The marketplace's account, and its fee in basis points."""

    account: str
    fee: int

    def divide(
        self,
        price: int,
        collection: Mapping[str, Any],
        seller: str | None = None,
        buyer: str | None = None,
        number: int = 1,
    ) -> list[Share]:
        """The shares of a price in HBAR, which one seller is paid for this number of NFTs of a collection."""
        credit = find_credit(price, self.fee)
        # A royalty is a part of what the NFT's owner gets. Owners pay no fee to themselves.
        due = [
            Share(
                "Royalty",
                one["accountId"],
                credit * int(one["numerator"]) // int(one["denominator"]),
            )
            for one in collection["royalties"]
        ]
        due += [_fixed(one, number) for one in collection["fixedFees"] or ()]
        due = [share for share in due if share.account != seller]
        left = credit - sum(share.tinybars for share in due)
        part = price * TINYBARS - credit
        return [
            Share("Buyer", buyer, -price * TINYBARS),
            Share("Seller", seller, left),
            *due,
            *([Share("Marketplace", self.account, part)] if part else []),
        ]

    def divide_purchase(
        self, nfts: Iterable[Nft], collections: Mapping[str, Nft], buyer: str
    ) -> list[Share] | None:
        """The shares of NFTs that are bought together; None if not all royalties are known.

        The network takes a royalty once of all that a seller gets for NFTs of one collection.
        """
        shares: list[Share] = []
        for (token, seller), group in groupby(sorted(nfts, key=_sale), key=_sale):
            sold = [*group]
            collection = collections.get(token) or {}
            if collection.get("royalties") is None:
                return None
            price = sum(nft["listingPrice"] for nft in sold)
            shares += self.divide(price, collection, seller, buyer, len(sold))
        return _merge(shares)


def _sale(nft: Nft) -> tuple[str, str]:
    return nft["token"], nft["owner"]["accountId"] or ""


def _fixed(fee: Mapping[str, Any], number: int) -> Share:
    amount = int(fee["amount"]) * number
    if fee["token"]:
        return Share("Fixed fee", fee["accountId"], 0, f"{amount} of {fee['token']}")
    return Share("Fixed fee", fee["accountId"], amount)


def _merge(shares: Iterable[Share]) -> list[Share]:
    """One share for all that an account gets in the same role, in the order of ROLES."""
    merged: dict[tuple[str, str | None, str], Share] = {}
    for share in shares:
        key = share.role, share.account, share.units
        before = merged.get(key)
        merged[key] = replace(share, tinybars=share.tinybars + before.tinybars) if before else share
    return sorted(merged.values(), key=lambda share: ROLES.index(share.role))
