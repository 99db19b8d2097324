"""What must be true after all faults: nothing acknowledged is lost, the order book is the ledger's."""

import json
import re
import time
from collections.abc import Iterator
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit

from harness.engines import connect
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from stress.soak import offers_ending
from stress.soak.books import ACCOUNTS, TOKENS, Books
from stress.soak.client import offer_in
from stress.soak.network import Ledger, content_of
from stress.soak.readers import LINK
from stress.soak.stage import FEE_BUDGET, SHARE, Stage

ROUNDS = 30
HOUR = 3600 * times.SECOND


class Purchase(NamedTuple):
    """What the service has stored of a purchase, of an offer's creation, or of its deletion."""

    transaction_id: str
    token: str
    serial_no: int
    fee_tinybars: int
    is_settled: int


class Ending:
    def __init__(self, stage: Stage, ledger: Ledger, token: str) -> None:
        self.stage, self.ledger, self.token = stage, ledger, token
        self.books: Books = stage.books

    def compare(self) -> None:
        """Sweep until everything is found, then compare everything."""
        self.end_purchases()
        self.sync()
        if complaints := self.stage.database.complaints():
            self.books.find(f"The database: {complaints[:5]}")
        self.compare_added()
        self.compare_listings()
        self.compare_sales()
        offers_ending.compare(self)
        self.compare_fees()
        if zombies := self.stage.zombies():
            time.sleep(2)
            if left := set(zombies) & set(self.stage.zombies()):
                self.books.find(f"Zombies: {left}")

    def sync(self) -> None:
        """Sweep until nothing is left: each image that exists is stored, and each purchase is settled."""
        for number in range(ROUNDS):
            waiting = self.hasten()
            done = self.stage.service.flask("sync", check=False)
            left = re.search("listed|taken off|not decided|not checked|offers changed", done.stdout)
            unsettled = [row for row in self.purchases() if not row.is_settled]
            if done.returncode == 0 and not left and not waiting and not unsettled:
                self.books.counts["rounds at the end"] = number + 1
                return
        self.books.find(f"{ROUNDS} rounds were not enough: {done.stdout} {done.stderr}")
        self.books.find(f"NFTs without their images: {waiting[:5]}; not settled: {unsettled[:5]}")

    def end_purchases(self) -> None:
        """Let open purchases be settled now, and not in three minutes: nobody submits them any more."""
        over = times.to_iso(times.now() - 2 * times.ALLOWED_LAG)
        with connect(self.stage.database.url) as db:
            db.execute(
                f"UPDATE prepared_transaction SET expires_at = '{over}'"
                f" WHERE is_settled = 0 AND expires_at > '{over}'"
            )

    def purchases(self) -> list[Purchase]:
        with connect(self.stage.database.url) as db:
            sql = """
                SELECT transaction_id, token, serial_no, fee_tinybars, is_settled
                FROM prepared_transaction JOIN prepared_nft USING (transaction_id)
                WHERE kind = 'purchase'
            """
            return [Purchase(*row) for row in db.execute(sql)]

    def hasten(self) -> list[tuple[str, int]]:
        """Let NFTs whose content is good and still missing be due now, and not in a day. Returns them."""
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
        self.differ("The ledger and its clients", {k: it[:2] for k, it in expected.items()}, signed)
        book = list(self.rows("/v1/orderbook"))
        self.books.counts["listings expected"] = len(expected)
        self.books.counts["listings shown"] = len(book)
        keys = [(row["token"], row["serialNo"]) for row in book]
        if len(set(keys)) < len(keys):
            self.books.find("The order book shows an NFT twice")
        shown = {key: offer_in(row) for key, row in zip(keys, book, strict=True)}
        self.differ("The order book", shown, {k: it[:2] for k, it in expected.items()})
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
            self.differ(f"The list {path}", found, wanted)

    def compare_sales(self) -> None:
        """Each NFT that the marketplace moved was paid for, and its buyers know of as many sales."""
        sales = self.ledger.sales(SHARE)
        for fault in filter(None, (sale.fault for sale in sales)):
            self.books.find(fault)
        self.books.counts["sales audited"] = len(sales)
        bought = self.books.counts["purchases on the ledger: SUCCESS"]
        if len(sales) != bought:
            self.books.find(f"The ledger has {len(sales)} sales, and buyers know of {bought}")

    def compare_fees(self) -> None:
        """Each purchase is settled with what the ledger charged. All of an hour are within the budget."""
        stored, charged = {it.transaction_id: it for it in self.purchases()}, self.ledger.charged()
        self.books.counts["purchases stored"] = len(stored)
        for what, ids in (
            ("taken", self.books.purchases.keys()),
            ("charged", charged.keys()),
        ):
            if lost := ids - stored.keys():
                self.books.find(f"{len(lost)} purchases were {what}, and are not stored: {lost}")
        for transaction_id, purchase in stored.items():
            fee = sum(fee for _, fee in charged.get(transaction_id, ()))
            if not purchase.is_settled or purchase.fee_tinybars != fee:
                self.books.find(f"{purchase} is not settled with the ledger's {fee}")
        fees = sorted(fee for found in charged.values() for fee in found)
        self.books.counts["HBAR charged"] = sum(fee for _, fee in fees) // TINYBARS
        for moment, _ in fees:
            hour = sum(fee for at, fee in fees if moment <= at < moment + HOUR)
            if hour > FEE_BUDGET * TINYBARS:
                self.books.find(
                    f"In an hour from {times.to_iso(moment)} {hour} tinybars were charged"
                )
                return

    def differ(self, what: str, found: dict, expected: dict) -> None:
        if found != expected:
            keys = {key for key in found | expected if found.get(key) != expected.get(key)}
            some = [(key, found.get(key), expected.get(key)) for key in sorted(keys)[:5]]
            self.books.find(f"{what}: {len(keys)} differ (shown, expected): {some}")

    def restart(self) -> None:
        """Stop the service, start it again, and compare its order book with the one before."""
        before = list(self.rows("/v1/orderbook"))
        self.stage.stop()
        began = time.monotonic()
        self.stage.start()
        self.books.say(f"Started again in {time.monotonic() - began:.1f} s")
        if before != list(self.rows("/v1/orderbook")):
            self.books.find("The order book is another one after a restart")
        self.stage.stop()
