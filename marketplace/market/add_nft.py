"""Adds NFTs, and finds the account and the stored NFT that a request names."""

from collections.abc import Sequence
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
from marketplace.market.reconciler import Judgement
from marketplace.market.several import for_each
from marketplace.services import mirror_node
from marketplace.store import nfts
from marketplace.store.database import read
from marketplace.store.rows import NftRow


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


def require_nft(token: str, serial_no: int) -> NftRow:
    """Return the stored NFT. Raises NftNotStored."""
    nft = nfts.get_nft(read(), token, serial_no)
    if nft is None:
        raise NftNotStored(token, serial_no)
    return nft


def require_owned(account_id: str, token: str, serial_no: int, deadline: Deadline) -> NftRow:
    """Return the stored NFT of an account. Ask the ledger once if another owner is stored.

    Raises NftNotStored, NftGone, NotTheOwner, and the ledger's errors.
    """
    nft = require_nft(token, serial_no)
    if nft["owner"] != account_id:
        nft = reconciler.refresh(token, serial_no, deadline).nft or nft
    require_owner(nft, account_id)
    return nft


def require_owner(nft: NftRow, account_id: str) -> None:
    """Raise NftGone or NotTheOwner unless the account is the stored owner of the NFT."""
    nft_id = nft["token"], nft["serial_no"]
    if nft["ledger_at"] == reconciler.GONE:
        raise NftGone(*nft_id)
    if nft["owner"] != account_id:
        raise NotTheOwner(account_id, *nft_id, nft["owner"])


def add(account_id: str, nft_ids: Sequence[NftId]) -> None:
    """Store NFTs as the ledger shows them, unless they are stored already.

    The watcher adds their metadata and images later.
    Raises AccountNotOnLedger, NftNotOnLedger, NftGone, DatabaseBusy, and the ledger's errors. Nothing is
    stored if the ledger lacks one of them.
    """
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    account_id = find_account_id(account_id, deadline)
    stored = {(nft["token"], nft["serial_no"]) for nft in nfts.list_nfts(read(), nft_ids)}
    new = [nft_id for nft_id in nft_ids if nft_id not in stored]
    if not new:
        return
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

    for judgement in for_each(new, require_on_ledger):
        reconciler.reconcile(judgement.facts.nft, deadline, first=judgement)


def _look(account_id: str, nft_id: NftId, deadline: Deadline) -> Judgement | None:
    # The account usually owns the NFT: then the ledger answers in one request.
    on_ledger = mirror_node().find_nft_of(account_id, *nft_id, deadline)
    on_ledger = on_ledger or mirror_node().find_nft(*nft_id, deadline)
    return reconciler.judge(on_ledger, None, deadline) if on_ledger else None
