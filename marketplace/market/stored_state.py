"""Compares an NFT's stored state with the ledger, by its date and by whether it was decided then."""

from marketplace.hedera import times
from marketplace.ledger.objects import Nft
from marketplace.store.nfts import NftRow


def find_stored_at(nft: NftRow) -> int:
    """The consensus time of the stored state, in nanoseconds."""
    return times.to_nanoseconds(nft["ledger_at"])


def is_gone(nft: NftRow) -> bool:
    """Tell whether the NFT was burned, or its token was deleted. Both are final."""
    return nft["ledger_state"] == "gone"


def is_undecided(nft: NftRow) -> bool:
    """Tell whether its newest facts left the NFT undecided."""
    return nft["ledger_state"] == "undecided"


def is_older(on_ledger: Nft, stored: NftRow) -> bool:
    """Tell whether the ledger's row of an NFT is older than the stored state."""
    return times.to_iso(on_ledger.modified_at) < stored["ledger_at"]


def is_newer(on_ledger: Nft, stored: NftRow) -> bool:
    """Tell whether the ledger's row of an NFT is newer than the stored state."""
    return times.to_iso(on_ledger.modified_at) > stored["ledger_at"]


def is_decided_by(on_ledger: Nft, stored: NftRow) -> bool:
    """Tell whether the stored state is the verdict on all facts of this row's date."""
    is_of_row = times.to_iso(on_ledger.modified_at) == stored["ledger_at"]
    return is_of_row and stored["ledger_state"] == "decided"


def shows(stored: NftRow, moment: int) -> bool:
    """Tell whether the stored state is as new as a moment, in nanoseconds, and decided."""
    is_as_new = stored["ledger_at"] >= times.to_iso(moment) or is_gone(stored)
    return is_as_new and not is_undecided(stored)
