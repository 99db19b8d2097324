"""A request's caller, account and NFTs: finds them, refuses what is hidden or blocked, adds new NFTs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple, TypeVar

from marketplace.errors import (
    AccountBlocked,
    AccountNotOnLedger,
    CollectionNotStored,
    Hidden,
    MarketplaceError,
    NftGone,
    NftNotOnLedger,
    NftNotStored,
    NotTheOwner,
    Unavailable,
)
from marketplace.hedera import times
from marketplace.hedera.ids import NftId, is_evm_address
from marketplace.ledger import Deadline
from marketplace.ledger.rate import RequestDeadline
from marketplace.market import listing_rule, reconciler
from marketplace.market.reconciler import Judgement
from marketplace.services import mirror_node, read, write
from marketplace.store import decisions, nfts
from marketplace.store.nfts import NftRow, is_gone

PAUSE_SECONDS = 600  # between two requests for one NFT's metadata, of anybody

T = TypeVar("T")


class Caller(NamedTuple):
    """The access token and the end user that ask for a transaction."""

    token: str  # name of the access token; empty where a host lets callers in
    end_user: str  # a name that a trusted caller or a host gave, or else the client's address


OPERATOR = Caller("", "")  # uses a command


class TransactionRequest(NamedTuple):
    """A request for a transaction about one or several NFTs."""

    account_id: str  # must sign the transaction
    nft_ids: Sequence[NftId]  # each once
    wallet: str
    caller: Caller = OPERATOR


def take_turn(caller: Caller, nfts: int = 1) -> AbstractContextManager[RequestDeadline]:
    """Begin a request about some NFTs, whose deadline is returned.

    This and each of its questions may raise LedgerBusy.
    """
    who = f"{caller.token}\n{caller.end_user}"
    return mirror_node().rate.request(who, reconciler.LEDGER_SECONDS, nfts)


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


def require_shown(token: str, serial_no: int = 0) -> None:
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


def require_all_shown(nft_ids: Iterable[NftId]) -> None:
    """Raise Hidden, with the names of all hidden NFTs."""
    for_each(nft_ids, lambda nft_id: require_shown(*nft_id))


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


def add(account_id: str, nft_ids: Sequence[NftId], caller: Caller = OPERATOR) -> None:
    """Store NFTs as the ledger shows them, unless they are stored already.

    The watcher adds their metadata and images later.
    After an error, none of them is stored.
    """
    require_all_shown(nft_ids)
    stored = nfts.get_nfts(read(), nft_ids)
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
