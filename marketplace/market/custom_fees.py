"""A token's custom fees: what the seller of NFTs owes, and whether the seller can pay it.

The network's rules: the seller pays royalties as fractions of the credit. As the sender of each NFT, the
seller also pays the fixed fees. The treasury and a fee's own collector are exempt. If the fee says so, all
collectors of the token are exempt. Source: HIP-18, HIP-573, and CustomFeeAssessor of
https://github.com/hiero-ledger/hiero-consensus-node.
"""

from typing import NamedTuple

from marketplace.errors import (
    FeesChangeable,
    FeesChanged,
    FeesInTokens,
    LedgerAnswerInvalid,
    NothingLeftForSeller,
)
from marketplace.hedera import times
from marketplace.hedera.hbar import to_hbar
from marketplace.ledger.objects import FixedFee, LedgerToken, RoyaltyFee
from marketplace.store.database import read
from marketplace.store.nft_collections import is_verified


class Sale(NamedTuple):
    """What one seller sells in a purchase: NFTs of one token."""

    token: str
    seller: str
    credit: int  # tinybars, in all
    listed_at: str | None  # when the seller listed the first one, as in the database
    nfts: int = 1


def require_payable(sale: Sale, token: LedgerToken) -> None:
    """Raise an error if custom fees forbid a sale: FeesChangeable, FeesChanged, or that of find_received().

    The seller agreed to the fees at the time of the listing.
    """
    require_unchangeable(sale.token, token)
    find_received(sale, token)
    since, listed_at = token.fees_since, sale.listed_at
    is_known = since and listed_at and times.to_iso(since) <= listed_at
    if not is_known and (since or token.royalties or token.fixed_fees):
        raise FeesChanged(sale.token)


def require_unchangeable(id: str, token: LedgerToken) -> None:
    """Raise FeesChangeable if a token's issuer can change its custom fees, and the operator does not know it.

    Nothing binds the fees that a sale is charged to those that were in force when it was signed.
    """
    if token.can_change_fees and not is_verified(read(), id):
        raise FeesChangeable(id)


def find_received(sale: Sale, token: LedgerToken) -> int:
    """Return the tinybars that the custom fees leave the seller.

    Refuses fees in tokens: their transfer may associate the collector, and the marketplace would pay for that
    on top of the purchase's fee cap.
    """
    royalty_fees, fixed_fees = find_owed(sale, token)
    if any(fee.token for fee in fixed_fees):
        raise FeesInTokens(sale.token)
    royalties = sum(sale.credit * fee.numerator // fee.denominator for fee in royalty_fees)
    taken = royalties + sale.nfts * sum(fee.amount for fee in fixed_fees)
    if taken and taken >= sale.credit:
        raise NothingLeftForSeller(sale.token, to_hbar(taken), to_hbar(sale.credit))
    return sale.credit - taken


def find_owed(sale: Sale, token: LedgerToken) -> tuple[list[RoyaltyFee], list[FixedFee]]:
    """Return the royalties and the fixed fees that the seller owes.

    Raises LedgerAnswerInvalid if one of the token's fees is unreadable.
    """
    if token.royalties is None or token.fixed_fees is None:
        raise LedgerAnswerInvalid(f"/tokens/{sale.token}: its custom fees make no sense")
    if sale.seller == token.treasury:
        return [], []
    collectors = {fee.collector for fee in token.royalties}
    collectors |= {fee.collector for fee in token.fixed_fees}

    def is_owed(fee: RoyaltyFee | FixedFee) -> bool:
        exempt = collectors if fee.exempts_collectors else {fee.collector}
        return sale.seller not in exempt

    return [*filter(is_owed, token.royalties)], [*filter(is_owed, token.fixed_fees)]
