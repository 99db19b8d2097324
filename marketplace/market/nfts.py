"""Adds NFTs that are not stored yet, and has the metadata of stored NFTs read again."""

from collections.abc import Sequence
from functools import partial

from marketplace.errors import NftGone, NftNotOnLedger, NftNotStored
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market import reconciler
from marketplace.market.reconciler import Judgement
from marketplace.market.requests import (
    MarketRequest,
    begin,
    for_each,
    require_none_hidden,
    require_not_hidden,
)
from marketplace.services import mirror_node, read, write
from marketplace.store import nfts
from marketplace.store.nfts import is_gone

PAUSE_SECONDS = 600  # between two requests for one NFT's metadata, of anybody


def add(request: MarketRequest) -> None:
    """Store NFTs as the ledger shows them, unless they are stored already.

    The watcher adds their metadata and images later.
    After an error, none of them is stored.
    """
    require_none_hidden(request.nft_ids)
    stored = nfts.get_nfts(read(), request.nft_ids)
    new = [nft_id for nft_id in request.nft_ids if nft_id not in stored]
    with begin(request._replace(nft_ids=new)) as (request, deadline):
        add_new(request.account_id, new, deadline)


def add_new(account_id: str, new: Sequence[NftId], deadline: Deadline) -> None:
    """Store NFTs that are not stored. Raises NftNotOnLedger, NftGone, and the ledger's errors."""
    questions = [partial(_judge, account_id, nft_id, deadline) for nft_id in new]
    judged: dict[NftId, Judgement] = dict(zip(new, mirror_node().ask(*questions), strict=True))

    def require_on_ledger(nft_id: NftId) -> Judgement:
        facts = judged[nft_id].facts
        if facts is None:
            raise NftNotOnLedger(*nft_id)
        if facts.nft.is_gone:
            raise NftGone(*nft_id)
        return judged[nft_id]

    reconciler.add(for_each(new, require_on_ledger), deadline)


def _judge(account_id: str, nft_id: NftId, deadline: Deadline) -> Judgement:
    # The account usually owns the NFT: then the ledger answers in one request.
    on_ledger = mirror_node().find_nft_of(account_id, *nft_id, deadline)
    on_ledger = on_ledger or mirror_node().find_nft(*nft_id, deadline)
    return reconciler.judge(on_ledger, None, deadline)


def read_again(token: str, serial_no: int) -> int:
    """Have an NFT's metadata read again, unless somebody asked within the last PAUSE_SECONDS.

    Returns the seconds until the next request is accepted. Raises Hidden, NftNotStored, or NftGone.
    """
    nft = nfts.get_nft(read(), token, serial_no)
    require_not_hidden(token, serial_no)
    if nft is None:
        raise NftNotStored(token, serial_no)
    if is_gone(nft):
        raise NftGone(token, serial_no)
    now = times.now()
    before = now - PAUSE_SECONDS * times.SECOND
    last = nft["asked_at"] and times.to_nanoseconds(nft["asked_at"])
    if last and before < last <= now:  # one in the future was written with a wrong clock
        return -(-(last - before) // times.SECOND)
    with write() as db:
        nfts.mark_asked_again(db, token, serial_no, times.to_iso(now), times.to_iso(before))
    return PAUSE_SECONDS


def read_collection_again(token: str) -> int:
    """Have the metadata of all NFTs of a collection read again; returns their number."""
    with write() as db:
        return nfts.mark_collection_asked_again(db, token, times.to_iso(times.now()))
