"""What must be true once the sky is clear: nothing acknowledged is lost, the order book is the ledger's."""

import json
import re
import time
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.parse import urlsplit

from tests.engines import connect
from tests.soak.books import ACCOUNTS, TOKENS, Books
from tests.soak.crowd import LINK, offer_in
from tests.soak.network import Ledger, content_of
from tests.soak.stage import Stage

ROUNDS = 30


class Ending:
    def __init__(self, stage: Stage, ledger: Ledger, token: str) -> None:
        self.stage, self.ledger, self.token = stage, ledger, token
        self.books: Books = stage.books

    def compare(self) -> None:
        """Let the watcher's rounds find what there is to find, then compare everything."""
        self.sync()
        if complaints := self.stage.database.complaints():
            self.books.find(f"The database: {complaints[:5]}")
        self.compare_added()
        self.compare_listings()
        if zombies := self.stage.zombies():
            time.sleep(2)
            if left := set(zombies) & set(self.stage.zombies()):
                self.books.find(f"Zombies: {left}")

    def sync(self) -> None:
        """Rounds until one says that nothing is left, and each image that can be had is here."""
        for number in range(ROUNDS):
            waiting = self.hasten()
            done = self.stage.service.flask("sync", check=False)
            left = re.search("listed|taken off|not decided|not checked", done.stdout)
            if done.returncode == 0 and not left and not waiting:
                self.books.counts["rounds at the end"] = number + 1
                return
        self.books.find(f"{ROUNDS} rounds were not enough: {done.stdout} {done.stderr}")
        self.books.find(f"Without an image that can be had: {waiting[:5]}")

    def hasten(self) -> list[tuple[str, int]]:
        """Those whose content is good and not here yet are due at once, as they would be in a day."""
        with connect(self.stage.database.url) as db:
            sql = "SELECT token, serial_no FROM nft WHERE missing IS NOT NULL OR image IS NULL"
            missing = [tuple(row) for row in db.execute(sql)]
            waiting = [nft for nft in missing if content_of(*nft) == "good"]
            for token, serial_no in waiting:
                db.execute(
                    "UPDATE nft SET retry_at = '2026-01-01T00:00:00.000000000Z'"
                    f" WHERE token = '{token}' AND serial_no = {serial_no}"
                )
        return waiting

    def rows(self, path: str | None) -> Iterator[dict]:
        """All rows of a list, page by page to its end."""
        while path:
            with self.stage.service.get(path, Authorization=f"Bearer {self.token}") as answer:
                yield from json.load(answer)
                link = LINK.search(answer.headers.get("Link", ""))
            parts = link and urlsplit(link[1])
            path = parts and f"{parts.path}?{parts.query}"

    def compare_added(self) -> None:
        with connect(self.stage.database.url) as db:
            stored = {tuple(row) for row in db.execute("SELECT token, serial_no FROM nft")}
        self.books.counts["NFTs stored"] = len(stored)
        if lost := self.books.added.keys() - stored:
            self.books.find(f"{len(lost)} acknowledged and lost: {sorted(lost)[:10]}")
        for nft in self.books.added.values():
            path = f"/v1/nft/{nft.token}/{nft.serial_no}"
            try:
                with self.stage.service.get(path, Authorization=f"Bearer {self.token}") as answer:
                    row = json.load(answer)
            except HTTPError as error:
                self.books.find(f"{path}: {error}")
                continue
            if offer_in(row) != nft.offer:
                self.books.find(f"{path} is {offer_in(row)}, and should be {nft.offer}")

    def compare_listings(self) -> None:
        expected = self.ledger.listings()
        signed = {nft.key: nft.offer for nft in self.books.added.values() if nft.offer}
        self._differ(
            "The ledger and its clients", {k: it[:2] for k, it in expected.items()}, signed
        )
        book = list(self.rows("/v1/orderbook"))
        self.books.counts["listings expected"] = len(expected)
        self.books.counts["listings shown"] = len(book)
        keys = [(row["token"], row["serialNo"]) for row in book]
        if len(set(keys)) < len(keys):
            self.books.find("The order book shows an NFT twice")
        shown = {key: offer_in(row) for key, row in zip(keys, book, strict=True)}
        self._differ("The order book", shown, {k: it[:2] for k, it in expected.items()})
        newest = sorted(expected, key=lambda key: expected[key][2], reverse=True)
        if keys != newest and shown.keys() == expected.keys():
            self.books.find("The order book is out of order")
        for name, path, part in [
            *((it, f"/v1/user/{it}/listed?limit=100", lambda row: row[0]) for it in ACCOUNTS),
            *((it, f"/v1/nftslisted/{it}", None) for it in TOKENS),
        ]:
            found = {(row["token"], row["serialNo"]): offer_in(row) for row in self.rows(path)}
            wanted = {
                key: offer
                for key, offer in shown.items()
                if (part(offer) if part else key[0]) == name
            }
            self._differ(f"The list {path}", found, wanted)

    def _differ(self, what: str, found: dict, expected: dict) -> None:
        if found != expected:
            keys = {key for key in found | expected if found.get(key) != expected.get(key)}
            some = [(key, found.get(key), expected.get(key)) for key in sorted(keys)[:5]]
            self.books.find(f"{what}: {len(keys)} differ (shown, expected): {some}")

    def restart(self) -> None:
        """It stops as it is told, and starts again, with the same order book."""
        before = list(self.rows("/v1/orderbook"))
        self.stage.stop()
        began = time.monotonic()
        self.stage.start()
        self.books.say(f"Started again in {time.monotonic() - began:.1f} s")
        if before != list(self.rows("/v1/orderbook")):
            self.books.find("The order book is another one after a restart")
        self.stage.stop()
