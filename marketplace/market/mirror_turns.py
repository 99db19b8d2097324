"""Counts the mirror node questions of a client's request. The request takes one turn for each beforehand.

The counts fit the usual request. Each further question takes one more of the caller's turns.
"""

from collections.abc import Collection
from contextlib import AbstractContextManager

from marketplace.hedera.ids import NftId, is_evm_address
from marketplace.ledger.mirror_rate_limit import Turns
from marketplace.market import reconciler
from marketplace.market.prepare import Caller
from marketplace.services import mirror_node
from marketplace.store.rows import NftRow


def take(caller: Caller, questions: int) -> AbstractContextManager[Turns]:
    """Take a request's turns. They also serve as its deadline. Raises LedgerBusy."""
    who = f"{caller.token}\n{caller.end_user}"
    return mirror_node().take_turns(who, questions, reconciler.LEDGER_SECONDS)


def count_account(account_id: str) -> int:
    """1 for an account that must be looked up."""
    return int(is_evm_address(account_id))


def count_facts(nfts: Collection[NftRow]) -> int:
    """The questions about the listing rule's facts. NFTs that were listed together share one question."""
    return 2 * len(nfts) + len({nft["last_listed_at"] for nft in nfts})


def count_purchase(buyer: str, nfts: Collection[NftRow]) -> int:
    """The questions of a purchase: 11 for one NFT, and 67 for nine of nine collections and sellers."""
    sellers, tokens = {nft["owner"] for nft in nfts}, {nft["token"] for nft in nfts}
    holdings = {(nft["owner"], nft["token"]) for nft in nfts} | {(buyer, token) for token in tokens}
    accounts = {buyer, *sellers}
    others = 3  # the mirror node's present, the exchange rate, and the balance of the marketplace
    return (
        count_account(buyer)
        + count_facts(nfts)
        + len(accounts)
        + len(tokens)
        + len(holdings)
        + others
    )


def count_report(account_id: str, nfts: Collection[NftRow]) -> int:
    """The questions of a report: the mirror node's present, the transaction, and NFTs with histories."""
    return count_account(account_id) + 2 + 2 * len(nfts)


def count_adding(account_id: str, nft_ids: Collection[NftId]) -> int:
    """The questions that add NFTs of their owner which are not listed."""
    return count_account(account_id) + len(nft_ids) + len({nft_id.token for nft_id in nft_ids})


def count_listing(owner: str, nfts: Collection[NftRow]) -> int:
    """The questions of a listing, which concern only NFTs whose stored owner is another account."""
    return count_account(owner) + sum(nft["owner"] != owner for nft in nfts)


def count_withdrawal(owner: str, nfts: Collection[NftRow]) -> int:
    """The questions of a withdrawal."""
    return count_account(owner) + count_facts(nfts)
