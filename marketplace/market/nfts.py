"""An NFT that is stored: how it comes to be, and who asks for one."""

from functools import partial
from typing import Any

from marketplace.errors import NftGone, NftNotOnLedger, NftNotStored, NotTheOwner
from marketplace.ledger import Deadline, mirror_node
from marketplace.market import reconciler, records
from marketplace.store import queries
from marketplace.store.database import read

# From when an add begins: the ledger's part is bounded by reconciler.LEDGER_SECONDS.
ADD_SECONDS = 7.2
# For metadata and image together, where somebody waits; what is slower comes later.
METADATA_SECONDS = 4
STORING_SECONDS = 2  # of all of it, for a bucket, the token's name and the database


def require_nft(token: str, serial_no: int) -> Any:
    """Return the stored NFT. Raises NftNotStored."""
    nft = queries.get_nft(read(), token, serial_no)
    if nft is None:
        raise NftNotStored(token, serial_no)
    return nft


def require_owned(account_id: str, token: str, serial_no: int) -> Any:
    """Return the stored NFT of an account. The ledger is asked once where it is another's by what is stored.

    Raises NftNotStored, NftGone, NotTheOwner, and the ledger's errors.
    """
    nft = require_nft(token, serial_no)
    if nft["owner"] != account_id:
        nft = reconciler.refresh(token, serial_no).nft
    if nft["ledger_at"] == reconciler.GONE:
        raise NftGone(token, serial_no)
    if nft["owner"] != account_id:
        raise NotTheOwner(account_id, token, serial_no, nft["owner"])
    return nft


def add(account_id: str, token: str, serial_no: int) -> None:
    """Store an NFT as the ledger has it. One that is stored is left alone, and nobody is asked.

    Where its metadata or image can't be had in time, it is stored with what is known, and completed later.
    Raises NftNotOnLedger, NftGone, LedgerUnreachable, LedgerAnswerInvalid or DatabaseBusy; then nothing is
    stored.
    """
    if queries.get_nft(read(), token, serial_no):
        return
    whole = Deadline(ADD_SECONDS)
    deadline = whole.within(reconciler.LEDGER_SECONDS)
    mirror = mirror_node()
    # Mostly the account that wants to list is the owner; whoever it is, the ledger says so.
    on_ledger = mirror.find_nft_of(account_id, token, serial_no, deadline)
    on_ledger = on_ledger or mirror.find_nft(token, serial_no, deadline)
    if on_ledger is None:
        raise NftNotOnLedger(token, serial_no)
    describe = partial(
        records.build, deadline=whole.within(METADATA_SECONDS, spare=STORING_SECONDS)
    )
    line = reconciler.bring_in_line(on_ledger, deadline, describe=describe, until=whole)
    if line.nft is None:
        raise NftGone(token, serial_no)
