"""A request for NFTs: who asks, the turn at the mirror node, and what every such request requires."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from marketplace.errors import (
    AccountBlocked,
    AccountNotOnLedger,
    CollectionNotStored,
    Hidden,
    MarketplaceError,
    NftGone,
    NftNotStored,
    NotTheOwner,
    Unavailable,
)
from marketplace.hedera.ids import NftId, is_evm_address
from marketplace.ledger import Deadline
from marketplace.ledger.rate import RequestDeadline
from marketplace.market import reconciler
from marketplace.services import mirror_node, read
from marketplace.store import decisions, nfts
from marketplace.store.nfts import NftRow, is_gone

T = TypeVar("T")


class Caller(NamedTuple):
    """The access token and the end user that ask for a transaction."""

    token: str  # name of the access token; empty where a host lets callers in
    end_user: str  # a name that a trusted caller or a host gave, or else the client's address


OPERATOR = Caller("", "")  # uses a command


class MarketRequest(NamedTuple):
    """What an account asks for: NFTs to add, a transaction to sign, or what has become of a signed one."""

    account_id: str  # begin() replaces an EVM address by the id
    nft_ids: Sequence[NftId] = ()  # each once; none if it is about an offer
    caller: Caller = OPERATOR


@contextmanager
def begin(request: MarketRequest) -> Iterator[tuple[MarketRequest, RequestDeadline]]:
    """Take a request's turn at the mirror node. Yields it with its account's id, and its deadline.

    An EVM address is looked up each time. This and each further question may raise LedgerBusy. Raises
    AccountNotOnLedger, and the ledger's errors.
    """
    named, who = request.account_id, f"{request.caller.token}\n{request.caller.end_user}"
    rate, seconds = mirror_node().rate, reconciler.LEDGER_SECONDS
    with rate.request(who, seconds, len(request.nft_ids)) as deadline:
        if is_evm_address(named):
            account = mirror_node().find_account(named, deadline)
            if account is None:
                raise AccountNotOnLedger(named)
            request = request._replace(account_id=account.id)
        yield request, deadline


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


def require_not_hidden(token: str, serial_no: int = 0) -> None:
    """Raise Hidden for a hidden NFT, or collection (0)."""
    decision = decisions.get_hiding(read(), token, serial_no)
    if decision:
        name = str(NftId(token, serial_no)) if serial_no else token
        raise Hidden(name, decision["reason"] if decision["is_public"] else None)


def require_collection(token: str, found: object) -> None:
    """Raise CollectionNotStored if nothing was found of a token, and no NFT of it is stored."""
    if not found and not nfts.is_any_stored_of_token(read(), token):
        raise CollectionNotStored(token)


def require_not_blocked(account_id: str) -> None:
    decision = decisions.get_block(read(), account_id)
    if decision:
        raise AccountBlocked(account_id, decision["reason"] if decision["is_public"] else None)


def require_none_hidden(nft_ids: Iterable[NftId]) -> None:
    """Raise Hidden, with the names of all hidden NFTs."""
    for_each(nft_ids, lambda nft_id: require_not_hidden(*nft_id))


def require_nfts(nft_ids: Sequence[NftId]) -> dict[NftId, NftRow]:
    """Return the stored NFTs. Raises NftNotStored, which names every missing NFT."""
    stored = nfts.get_nfts(read(), nft_ids)

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
    if others := [nft_id for nft_id in nft_ids if stored[nft_id]["owner"] != account_id]:
        for nft_id, reconciled in reconciler.reconcile(others, deadline).items():
            stored[nft_id] = reconciled.nft or stored[nft_id]
    for_each(nft_ids, lambda nft_id: require_owner(stored[nft_id], account_id))


def require_owner(nft: NftRow, account_id: str) -> None:
    """Raise NftGone or NotTheOwner unless the account is the stored owner of the NFT."""
    nft_id = nft["token"], nft["serial_no"]
    if is_gone(nft):
        raise NftGone(*nft_id)
    if nft["owner"] != account_id:
        raise NotTheOwner(account_id, *nft_id, nft["owner"])
