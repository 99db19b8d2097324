"""A token's custom fees: what the seller of an NFT owes, and whether he can pay it.

The rules are the network's: royalties are parts of what the seller is credited, and the sender of the NFT,
who is the seller, pays the fixed fees. The treasury and a fee's own collector are exempt, and so are all
collectors of the token where the fee says so. Source: HIP-18, HIP-573, and CustomFeeAssessor of
https://github.com/hiero-ledger/hiero-consensus-node.
"""

from typing import NamedTuple

from marketplace import times
from marketplace.errors import (
    FeesChanged,
    FeesInTokens,
    LedgerAnswerInvalid,
    NothingLeftForSeller,
)
from marketplace.hbar import to_hbar
from marketplace.ledger.mirror_schemas import FixedFee, Royalty, Token


class Sale(NamedTuple):
    """A seller, what he is credited in tinybars, and when he listed the NFT (as in the database)."""

    token: str
    seller: str
    credit: int
    listed_at: str | None


def require_payable(sale: Sale, found: Token) -> None:
    """Raise FeesInTokens, NothingLeftForSeller or FeesChanged where custom fees forbid a sale.

    Raises LedgerAnswerInvalid where a fee makes no sense. A fee in a token is refused, because its transfer
    may cost the marketplace the collector's association, beyond the cap of the purchase.
    """
    royalty_fees, fixed_fees = find_owed(sale, found)
    if any(fee.token for fee in fixed_fees):
        raise FeesInTokens(sale.token)
    royalties = sum(sale.credit * fee.numerator // fee.denominator for fee in royalty_fees)
    taken = royalties + sum(fee.amount for fee in fixed_fees)
    if taken and taken >= sale.credit:
        raise NothingLeftForSeller(sale.token, to_hbar(taken), to_hbar(sale.credit))
    # The seller agreed to the fees of that day. Of newer ones he pays royalties up to half the price.
    since, listed_at = found.fees_since, sale.listed_at
    is_known = since and listed_at and times.to_iso(since) <= listed_at
    if not is_known and (fixed_fees or 2 * royalties > sale.credit):
        raise FeesChanged(sale.token)


def find_owed(sale: Sale, found: Token) -> tuple[list[Royalty], list[FixedFee]]:
    """The royalties and the fixed fees of which the seller is not exempt.

    Raises LedgerAnswerInvalid where a fee of the token makes no sense.
    """
    if found.royalties is None or found.fixed_fees is None:
        raise LedgerAnswerInvalid(f"/tokens/{sale.token}: its custom fees make no sense")
    if sale.seller == found.treasury:
        return [], []
    collectors = {fee.collector for fee in found.royalties}
    collectors |= {fee.collector for fee in found.fixed_fees}

    def is_owed(fee: Royalty | FixedFee) -> bool:
        spared = collectors if fee.spares_collectors else {fee.collector}
        return sale.seller not in spared

    return [*filter(is_owed, found.royalties)], [*filter(is_owed, found.fixed_fees)]
