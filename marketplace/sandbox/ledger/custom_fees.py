"""What royalties a transfer owes: values in, assessed fees out. HIP-18, as the network charges them.

A royalty is a fraction of the HBAR that an NFT's sender gets in the same transaction, and the sender's to
pay; where there is none, the receiver pays the fallback fee. Once per account and token, however many NFTs.
The treasury owes nothing, and no collector what would be his own:
https://github.com/hashgraph/hedera-services, CustomRoyaltyFeeAssessor.
"""

from collections.abc import Iterable, Mapping

from marketplace.sandbox import catalogue
from marketplace.sandbox.ledger import queries
from marketplace.sandbox.ledger.execution import AssessedFee, NftTransfer


def assess(moved: Iterable[NftTransfer], paid: Mapping[str, int]) -> list[AssessedFee]:
    """The fees of a transfer: what it moves, and the tinybars that it gives to each account."""
    assessed, settled = [], set()
    for nft in moved:
        if nft.sender == queries.TREASURY or (nft.sender, nft.token) in settled:
            continue
        got = max(0, paid.get(nft.sender, 0))
        payer = nft.sender if got else nft.receiver
        if (payer, nft.token) in settled:
            continue
        settled.add((payer, nft.token))
        for royalty in catalogue.collection_of(nft.token).royalties:
            amount = got * royalty.numerator // royalty.denominator if got else royalty.fallback
            if amount and payer not in (queries.TREASURY, royalty.collector):
                assessed.append(AssessedFee(payer, royalty.collector, amount))
    return assessed


def may_owe_fallback(nft: NftTransfer, paid: Mapping[str, int]) -> bool:
    """Whether the receiver may have to pay a fallback fee, so that he must sign."""
    return (
        any(royalty.fallback for royalty in catalogue.collection_of(nft.token).royalties)
        and paid.get(nft.sender, 0) <= 0
        and queries.TREASURY not in (nft.sender, nft.receiver)
    )
