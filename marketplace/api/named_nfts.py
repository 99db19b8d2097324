"""The NFTs that a body names, in one of its forms."""

from collections.abc import Mapping, Sequence
from typing import Any

from marketplace.hedera.ids import NftId
from marketplace.services import services


def count_named_nfts(
    token: str = "",
    serial_no: int = 0,
    serial_nos: Sequence[int] = (),
    nfts: Sequence[Mapping[str, Any]] = (),
) -> list[NftId]:
    """Read the NFTs, and count each as a write of the caller. Raises LimitExceeded."""
    nft_ids = [NftId(token, number) for number in serial_nos or (serial_no,)]
    if nfts:
        nft_ids = [NftId(nft["token"], nft["serial_no"]) for nft in nfts]
    if more := len(nft_ids) - 1:  # the request itself was counted already
        services().rate_limits.count_write(more)
    return nft_ids
