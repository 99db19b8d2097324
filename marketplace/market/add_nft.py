"""Adds NFTs, and finds the account and the stored NFT that a request names."""

from collections.abc import Mapping, Sequence
from functools import partial

from marketplace.errors import (
    AccountNotOnLedger,
    NftGone,
    NftNotOnLedger,
    NftNotStored,
    NotTheOwner,
)
from marketplace.hedera.ids import NftId, is_evm_address
from marketplace.ledger import Deadline
from marketplace.market import listing_rule, reconciler
from marketplace.market.listing.prepared import OPERATOR, Caller, take_turn
from marketplace.market.moderation import require_all_shown
from marketplace.market.reconciler import Judgement, is_gone
from marketplace.market.several import for_each
from marketplace.services import mirror_node
from marketplace.store import nfts
from marketplace.store.database import read
from marketplace.store.nfts import NftRow


def find_account_id(named: str, deadline: Deadline) -> str:
    """Return the account id for an id or an EVM address. An EVM address is looked up each time.

    Raises AccountNotOnLedger, and the ledger's errors.
    """
    if not is_evm_address(named):
        return named
    account = mirror_node().find_account(named, deadline)
    if account is None:
        raise AccountNotOnLedger(named)
    return account.id


def require_nfts(nft_ids: Sequence[NftId]) -> dict[NftId, NftRow]:
    """Return the stored NFTs. Raises NftNotStored, which names every missing NFT."""
    stored = _list_stored(nft_ids)

    def require(nft_id: NftId) -> None:
        if nft_id not in stored:
            raise NftNotStored(*nft_id)

    for_each(nft_ids, require)
    return stored


def require_owned(account_id: str, stored: Mapping[NftId, NftRow], deadline: Deadline) -> None:
    """Raise an error unless an account owns these NFTs. Asks the ledger where the stored owner differs.

    Raises NftGone, NotTheOwner, and the ledger's errors.
    """
    stored = {**stored}
    nft_ids = [*stored]
    others = [nft_id for nft_id in nft_ids if stored[nft_id]["owner"] != account_id]
    for nft_id, reconciled in reconciler.reconcile(others, deadline).items():
        stored[nft_id] = reconciled.nft or stored[nft_id]
    for_each(nft_ids, lambda nft_id: require_owner(stored[nft_id], account_id))


def _list_stored(nft_ids: Sequence[NftId]) -> dict[NftId, NftRow]:
    return {NftId(nft["token"], nft["serial_no"]): nft for nft in nfts.list_nfts(read(), nft_ids)}


def require_owner(nft: NftRow, account_id: str) -> None:
    """Raise NftGone or NotTheOwner unless the account is the stored owner of the NFT."""
    nft_id = nft["token"], nft["serial_no"]
    if is_gone(nft):
        raise NftGone(*nft_id)
    if nft["owner"] != account_id:
        raise NotTheOwner(account_id, *nft_id, nft["owner"])


def add(account_id: str, nft_ids: Sequence[NftId], caller: Caller = OPERATOR) -> None:
    """Store NFTs as the ledger shows them, unless they are stored already.

    The watcher adds their metadata and images later.
    After an error, none of them is stored.
    """
    require_all_shown(nft_ids)
    stored = _list_stored(nft_ids)
    new = [nft_id for nft_id in nft_ids if nft_id not in stored]
    with take_turn(caller, len(new)) as deadline:
        add_new(find_account_id(account_id, deadline), new, deadline)


def add_new(account_id: str, new: Sequence[NftId], deadline: Deadline) -> None:
    """Store NFTs that are not stored. Raises NftNotOnLedger, NftGone, and the ledger's errors."""
    questions = [partial(_look, account_id, nft_id, deadline) for nft_id in new]
    found: dict[NftId, Judgement | None] = dict(
        zip(new, mirror_node().ask(*questions), strict=True)
    )

    def require_on_ledger(nft_id: NftId) -> Judgement:
        judgement = found[nft_id]
        if judgement is None:
            raise NftNotOnLedger(*nft_id)
        if listing_rule.is_gone(judgement.facts.nft):
            raise NftGone(*nft_id)
        return judgement

    reconciler.add(for_each(new, require_on_ledger), deadline)


def _look(account_id: str, nft_id: NftId, deadline: Deadline) -> Judgement | None:
    # The account usually owns the NFT: then the ledger answers in one request.
    on_ledger = mirror_node().find_nft_of(account_id, *nft_id, deadline)
    on_ledger = on_ledger or mirror_node().find_nft(*nft_id, deadline)
    return reconciler.judge(on_ledger, None, deadline) if on_ledger else None
