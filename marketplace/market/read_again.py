"""Asks the watcher to read stored NFTs' metadata again. Until then, the stored metadata stays."""

from marketplace.errors import NftGone, NftNotStored
from marketplace.hedera import times
from marketplace.market.moderation import require_shown
from marketplace.market.reconciler import is_gone
from marketplace.store import nfts
from marketplace.store.database import read, write

PAUSE_SECONDS = 600  # between two requests for one NFT, of anybody


def read_again(token: str, serial_no: int) -> int:
    """Have an NFT's metadata read again, unless somebody asked within the last PAUSE_SECONDS.

    Returns the seconds until the next request is accepted. Raises Hidden, NftNotStored, or NftGone.
    """
    nft = nfts.get_nft(read(), token, serial_no)
    require_shown(token, serial_no)
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
