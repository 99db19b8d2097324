"""Adds an NFT, and finds the account and the stored NFT that a request names."""

from marketplace.errors import (
    AccountNotOnLedger,
    NftGone,
    NftNotOnLedger,
    NftNotStored,
    NotTheOwner,
)
from marketplace.hedera.ids import is_evm_address
from marketplace.ledger import Deadline
from marketplace.market import reconciler
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


def add(account_id: str, token: str, serial_no: int) -> None:
    """Store an NFT as the ledger shows it, unless it is stored already.

    The watcher adds its metadata and image later.
    Raises AccountNotOnLedger, NftNotOnLedger, NftGone, DatabaseBusy, and the ledger's errors;
    then nothing is stored.
    """
    deadline = Deadline(reconciler.LEDGER_SECONDS)
    account_id = find_account_id(account_id, deadline)
    if nfts.get_nft(read(), token, serial_no):
        return
    mirror = mirror_node()
    # The account usually owns the NFT: then the ledger answers in one request.
    on_ledger = mirror.find_nft_of(account_id, token, serial_no, deadline)
    on_ledger = on_ledger or mirror.find_nft(token, serial_no, deadline)
    if on_ledger is None:
        raise NftNotOnLedger(token, serial_no)
    if reconciler.reconcile(on_ledger, deadline).nft is None:
        raise NftGone(token, serial_no)
