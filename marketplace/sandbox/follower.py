"""Keeps the order book in line with what happens on the sandbox's ledger, while nobody reports it.

It does the watcher's work, NFT by NFT, for what has changed: on one's own desk that shows within seconds,
and where nothing changes it costs a look at one number.
"""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from flask import Flask, current_app

from marketplace import times
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable, MarketplaceError
from marketplace.market.shares import ALL
from marketplace.operator import rounds
from marketplace.sandbox.ledger import queries
from marketplace.store import queries as store
from marketplace.store.database import read
from marketplace.store.faults import explained

PAUSE_SECONDS = 1
SYNC_SECONDS = 30
AWAKE_SECONDS = 600  # after a change; longer than anything that was prepared is valid
ATTEMPTS = 10


class Follower:
    """What it has seen of the ledger, and which NFTs it has still to look at."""

    def __init__(self, app: Flask, sandbox: Flask) -> None:
        self._app = app
        self._sandbox = sandbox
        self._stamp = None
        self._seen_at = 0  # the newest moment on the ledger that was looked at
        self._synced, self._synced_at, self._changed_at = None, -math.inf, -math.inf
        self._waiting: dict[tuple[str, int], int] = {}  # and how often that is tried

    def follow(self) -> None:
        """Look again and again, for as long as the process lives."""
        while True:
            try:
                with explained():
                    self.look()
                    self._sync_at_times()
            except (MarketplaceError, OSError) as error:
                self._app.logger.warning("The ledger was not followed: %s", error)
            except Exception:
                self._app.logger.exception("The ledger was not followed")
            time.sleep(PAUSE_SECONDS)

    def look(self) -> None:
        """Bring in line whatever has changed since the last look, and complete and refresh what is due."""
        self._find_changed()
        with self._app.app_context():
            for nft in sorted(self._waiting):
                self._waiting[nft] -= 1
                if self._is_in_line(*nft) or self._waiting[nft] == 0:
                    del self._waiting[nft]
            for do, item in self._list_due():
                do(item)
                if self._sandbox.extensions["database"].stamp() != self._stamp:
                    break  # a host that is silent keeps nobody from seeing what has changed meanwhile

    def _list_due(self) -> Iterator[tuple[Callable, Any]]:
        yield from ((rounds.complete, nft) for nft in rounds.next_to_complete(ALL))
        yield from ((rounds.refresh, token) for token in rounds.next_collections(ALL))

    def _sync_at_times(self) -> None:
        """Go a whole round as a watcher does, every half a minute, until nothing has changed for a while.

        It also forgets what is over, and does what only time asks for.
        """
        now = time.monotonic()
        if now < self._synced_at + SYNC_SECONDS:
            return
        if self._stamps() != self._synced:
            self._changed_at = now
        if now < self._changed_at + AWAKE_SECONDS:
            with self._app.app_context():
                rounds.sync()
            self._synced, self._synced_at = self._stamps(), time.monotonic()

    def _stamps(self) -> list:
        """Others where something was committed to the ledger or to the marketplace's database."""
        return [app.extensions["database"].stamp() for app in (self._sandbox, self._app)]

    def _is_in_line(self, token: str, serial_no: int) -> bool:
        """Bring an NFT in line; false where that has to be tried again."""
        try:
            return rounds.look((token, serial_no)).is_final
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            self._app.logger.warning("%s #%s was not followed: %s", token, serial_no, error)
            return False

    def _find_changed(self) -> None:
        stamp = self._sandbox.extensions["database"].stamp()
        if stamp == self._stamp and stamp is not None:
            return
        with self._sandbox.app_context():
            changed = queries.list_nfts_changed(read(), self._seen_at)
        with self._app.app_context():
            for row in filter(_is_news, changed):
                self._waiting[row["token"], row["serial_no"]] = ATTEMPTS
        self._seen_at = max([self._seen_at, *(row["modified_at"] for row in changed)])
        self._stamp = stamp


def _is_news(row) -> bool:
    """Tell whether the ledger's row of an NFT may say what is not in what is stored."""
    stored = store.get_nft(read(), row["token"], row["serial_no"])
    is_ours = row["spender"] == current_app.config["ACCOUNT_ID"]
    if stored is None:
        return is_ours
    if not is_ours and not stored["is_for_sale"]:
        return stored["owner"] != row["owner"]
    return times.to_iso(row["modified_at"]) > stored["ledger_at"]
