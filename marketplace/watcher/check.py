"""Compares NFTs, accounts' listings, tokens and offers with the ledger, for the recheck queue and sweeps."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flask import current_app

from marketplace.errors import LedgerAnswerInvalid
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.ledger.objects import Nft
from marketplace.market import listing_rule, reconciler
from marketplace.market.offers.reconcile import reconcile_offers
from marketplace.market.offers.rule import ENDED
from marketplace.market.recheck_queue import Recheck, What
from marketplace.market.reconciler import Reconciliation
from marketplace.services import mirror_node
from marketplace.store import nfts, offers
from marketplace.store.database import read
from marketplace.store.following import RecheckRow
from marketplace.store.nfts import NftRow
from marketplace.watcher.work import Done

NFT_SECONDS = 30  # to check one NFT, whose history may have several pages, or one offer
PAGE = 100  # NFTs that the mirror node lists at once
MAX_LIFE = 63 * times.DAY  # of a schedule: the network's limit is 62 days

ALL_OFFERS = What("offer", "")
OFFERS_AT_ONCE = 20

Listed = Nft | LedgerAnswerInvalid


class Checked(NamedTuple):
    """The result of a check: what was done, how new the facts were, and which NFTs differ."""

    done: Done
    facts_at: int = 0  # nanoseconds of consensus
    differing: list[Recheck] = []
    is_short: bool = False  # whether a list took one request


def check(row: RecheckRow) -> Checked:
    """Check an entry of the queue. Raises the ledger's errors, and the database's."""
    if row["kind"] == "nft":
        return _check_nft(NftId(row["id"], row["serial_no"]))
    if row["kind"] == "offer" and row["id"]:
        return _check_offer(row["id"])
    changed_at = times.to_nanoseconds(row["changed_at"]) or times.now()
    return compare(What(row["kind"], row["id"]), changed_at, times.to_nanoseconds(row["since"]))


def compare(what: What, changed_at: int, since: int, *, judges_again: bool = False) -> Checked:
    """Compare the stored NFTs of an account or a token with the ledger, in as few requests as possible.

    ``changed_at``: when a transaction may have changed them. ``since``: the earliest moment of a difference
    that an NFT's own date does not show. ``judges_again``: whether an earlier rule may have judged some NFTs
    not for sale.
    """
    if what.kind == "token":
        return _compare_token(what.id, since, judges_again=judges_again)
    if what.kind == "offer":
        return _compare_offers(since)
    return _compare_account(what.id, changed_at, since)


def _check_nft(nft_id: NftId) -> Checked:
    made = reconciler.reconcile([nft_id], Deadline(NFT_SECONDS))[nft_id]
    if not made.is_decided:
        current_app.logger.info("%s is not decided yet: %s", nft_id, made.reason)
    done = _describe(made)
    if done is Done.LISTED and made.nft:
        price, owner = f"{made.nft['listing_price']:,} HBAR", made.nft["owner"]
        current_app.logger.info("%s is for sale for %s by %s", nft_id, price, owner)
    elif done is Done.TAKEN_OFF:
        why = _explain_end(made)
        current_app.logger.info("%s was taken off the order book: %s", nft_id, why)
    return Checked(done, made.facts_at)


def _explain_end(made: Reconciliation) -> str:
    """Why a listing has ended: the NFT has another owner, or may no longer be spent."""
    if made.reason == listing_rule.GONE:
        return made.reason
    if made.before and made.nft and made.before["owner"] != made.nft["owner"]:
        return f"it belongs to {made.nft['owner']} now"
    return listing_rule.explain_end(made.reason)


def _describe(made: Reconciliation) -> Done:
    if not made.is_decided:
        return Done.UNDECIDED
    before, nft = made.before, made.nft
    was_listed = before is not None and bool(before["is_for_sale"])
    if nft is None or not nft["is_for_sale"]:
        return Done.TAKEN_OFF if was_listed else Done.UNCHANGED
    is_unchanged = before is not None and _read_listing(before) == _read_listing(nft)
    return Done.UNCHANGED if was_listed and is_unchanged else Done.LISTED


def _read_listing(nft: NftRow) -> tuple[int, str | None, str]:
    return nft["listing_price"], nft["last_listed_at"], nft["owner"]


def _check_offer(schedule_id: str) -> Checked:
    made = reconcile_offers([schedule_id], Deadline(NFT_SECONDS))[schedule_id]
    if made.undecided:
        current_app.logger.info("The offer %s is not decided yet: %s", schedule_id, made.undecided)
        return Checked(Done.UNDECIDED)
    offer = made.offer
    is_over = offer is not None and offer["state"] in ENDED
    facts_at = (
        reconciler.FOREVER if is_over else times.to_nanoseconds(offer["state_at"]) if offer else 0
    )
    done = Done.OFFERS if made.is_changed else Done.UNCHANGED
    return Checked(done, facts_at, is_short=True)


def _compare_offers(since: int) -> Checked:
    """Reconcile all offers that have not ended. Queue those that could not be decided."""
    done, differing = Done.OFFER_LISTS, []
    rows = offers.list_unended(read())
    for start in range(0, len(rows), OFFERS_AT_ONCE):
        dates = {
            row["schedule_id"]: row["state_at"] for row in rows[start : start + OFFERS_AT_ONCE]
        }
        try:
            made = reconcile_offers(dates, Deadline(NFT_SECONDS))
        except LedgerAnswerInvalid as error:
            current_app.logger.warning("Offers were not checked: %s", error)
            done = Done.UNREADABLE
            continue
        for schedule_id in (id for id, each in made.items() if each.undecided):
            moment = times.to_nanoseconds(dates[schedule_id])
            differing.append(Recheck(What("offer", schedule_id), moment, min(moment, since)))
    return Checked(done, 0, differing)


def _compare_account(account_id: str, changed_at: int, since: int) -> Checked:
    """Compare the listings of an account with the ledger: usually one request.

    One request gets one replica's answer. That replica is complete up to the newest NFT in the answer.
    """
    market = current_app.config["ACCOUNT_ID"]
    unseen = set(nfts.list_known_of_seller(read(), account_id))
    moments: list[int] = []
    listed = _note_moments(mirror_node().list_nfts_spendable(account_id, market), moments)
    checked = _compare(Done.SELLERS, listed, unseen, since)
    missing = [
        Recheck(What("nft", *nft_id), changed_at, min(changed_at, since))
        for nft_id in sorted(unseen)
    ]
    is_short = len(moments) < PAGE
    facts_at = max(moments, default=0) if is_short else 0
    return checked._replace(
        facts_at=facts_at, differing=checked.differing + missing, is_short=is_short
    )


def _note_moments(listed: Iterable[Listed], moments: list[int]) -> Iterator[Listed]:
    """Yield NFTs, and note when each was modified: 0 for one that cannot be read."""
    for nft in listed:
        moments.append(nft.modified_at if isinstance(nft, Nft) else 0)
        yield nft


def _compare_token(token: str, since: int, *, judges_again: bool) -> Checked:
    stored = nfts.list_stored_of_token(read(), token)
    is_sparse = 0 < len(stored) <= (stored[-1] - stored[0]) // PAGE + 1
    listed = _find_each(token, stored) if is_sparse else mirror_node().list_nfts(token)
    return _compare(Done.TOKENS, listed, set(), since, judges_again=judges_again)


def _find_each(token: str, serial_nos: Iterable[int]) -> Iterator[Listed]:
    """Yield the NFTs with these serial numbers, by one request each."""
    for serial_no in serial_nos:
        deadline = Deadline(reconciler.LEDGER_SECONDS)
        try:
            if nft := mirror_node().find_nft(token, serial_no, deadline):
                yield nft
        except LedgerAnswerInvalid as error:
            yield error


def _compare(
    done: Done,
    on_ledger: Iterable[Listed],
    unseen: set[tuple[str, int]],
    since: int,
    *,
    judges_again: bool = False,
) -> Checked:
    """Compare NFTs with the stored ones, and remove them from ``unseen``."""
    differing, market = [], current_app.config["ACCOUNT_ID"]
    for nft in on_ledger:
        if isinstance(nft, LedgerAnswerInvalid):
            current_app.logger.warning("An NFT was not checked: %s", nft)
            done = Done.UNREADABLE
            continue
        unseen.discard((nft.token, nft.serial_no))
        stored = nfts.get_nft(read(), nft.token, nft.serial_no)
        what = What("nft", nft.token, nft.serial_no)
        if reconciler.may_differ(nft, stored):
            differing.append(Recheck(what, nft.modified_at, min(nft.modified_at, since)))
        elif judges_again and stored and nft.spender == market and not stored["is_for_sale"]:
            # The ledger has not changed since the NFT was judged.
            differing.append(Recheck(what, nft.modified_at, times.now()))
    return Checked(done, 0, differing)
