"""One answer about several NFTs: an error names every NFT that it concerns."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from marketplace.errors import MarketplaceError, Unavailable
from marketplace.hedera.ids import NftId

T = TypeVar("T")


def for_each(nft_ids: Iterable[NftId], do: Callable[[NftId], T]) -> list[T]:
    """Call a function with each NFT. Raises one error that names every NFT that the function refused.

    The error is the first refusal, with the sentences of all. Temporary errors are raised only if there is
    no permanent one.
    """
    done: list[T] = []
    refused: dict[NftId, MarketplaceError] = {}
    later: dict[NftId, MarketplaceError] = {}
    for nft_id in nft_ids:
        try:
            done.append(do(nft_id))
        except Unavailable as error:
            later[nft_id] = error
        except MarketplaceError as error:
            refused[nft_id] = error
    if refused or later:
        raise _join(refused or later)
    return done


def _join(refused: dict[NftId, MarketplaceError]) -> MarketplaceError:
    first, *others = refused.values()
    if others:
        messages = {nft_id: error.message for nft_id, error in refused.items()}
        first.message = "; ".join(dict.fromkeys(messages.values()))
        first.errors = {
            "nfts": {
                f"{token}:{number}": [message] for (token, number), message in messages.items()
            }
        }
    return first
