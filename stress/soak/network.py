"""The network around the service: a ledger with its node, its mirror node, and a gateway for content.

They run in a process of their own. Its weather decides how they answer: mostly well, and for a while not.
"""

import asyncio
import base64
import contextlib
import enum
import io
import json
import logging
import multiprocessing
import os
import random
import re
import signal
import socket
import sqlite3
import struct
import threading
import time
import urllib.request
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from harness import network, wallets
from harness.images import CORPUS
from harness.postgresql import until
from hiero_sandbox.ledger import queries, records
from hiero_sandbox.ledger.accounts import FIRST_BALANCE
from hiero_sandbox.ledger.envelopes import write_id
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.market.memos import listing_memo
from marketplace.sandbox import catalogue, gateway, wallet
from marketplace.sandbox.application import create_sandbox
from marketplace.sandbox.catalogue import TREASURY
from stress import audit
from stress.soak.books import ACCOUNTS
from stress.soak.replica import BEHIND_SECONDS, Replica
from stress.soak.schedules import Scheduled, list_scheduled

MARKET, OTHER_MARKET = "0.0.9001", "0.0.6666"
SILENCE_SECONDS = 12
GARBAGE = (
    b"{]",
    b"null",
    b"<html>Bad gateway</html>",
    b'{"nfts": 7, "transactions": {}, "account_id": []}',
    b'{"nfts": [{"token_id": null}], "links": {"next": null}}',
)
BOMBS = 12  # how many images of harness/images.py are used, drawn in each run
CONTENTS = {"good": 90, "bomb": 3, "drips": 2, "silent": 1, "missing": 2, "garbage": 2}


class Weather(enum.IntEnum):
    CLEAR, FAILS, BUSY, GARBAGE, SILENT, RESETS, LAGS, MIXED = range(8)


STORMS = [weather for weather in Weather if weather not in (Weather.CLEAR, Weather.MIXED)]


def content_of(token: str, serial_no: int) -> str:
    """The kind of an NFT's metadata and image: one of CONTENTS, the same in each run."""
    dice = random.Random(f"{token}/{serial_no}")
    return dice.choices(list(CONTENTS), CONTENTS.values())[0]


class Network:
    """The process, and the values by which others set its weather."""

    def __init__(self, folder: Path, port: int, seed: int) -> None:
        self.path = folder / "ledger.db"
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        context = multiprocessing.get_context("fork")
        self.mirror = context.Value("i", Weather.CLEAR)
        self.gateway = context.Value("i", Weather.CLEAR)
        self.process = context.Process(target=self._run, args=(seed,), daemon=True)

    def __enter__(self):
        self.process.start()
        with socket.socket() as probe:
            until(
                lambda: probe.connect_ex(("127.0.0.1", self.port)) == 0, "the ledger did not start"
            )
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()

    def _run(self, seed: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.chdir(self.path.parent)  # where harness/shared_folder.py finds it
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.dice = random.Random(seed)
        self.sandbox = create_sandbox(str(self.path), signs_for=MARKET)
        self.sandbox.register_blueprint(gateway.blp)
        self.replica = Replica(self.path, MARKET)
        self.bombs = self.dice.sample(list(CORPUS.values()), BOMBS)
        self.made: dict[int, bytes] = {}
        threading.Thread(target=self._serve_node, daemon=True).start()
        with network.serve(self._answer, self.port):
            threading.Event().wait()

    def _serve_node(self) -> None:
        """Take the service's transactions, by gRPC."""
        from hiero_sandbox.hapi import server  # imports gRPC, which must not be forked

        @contextlib.contextmanager
        def announced(port: int, others: list[int]) -> Iterator[None]:
            self.sandbox.config["NODE_PORT"] = port
            self.replica.show_node(port)
            yield

        asyncio.run(server.serve(self.sandbox, 0, (), announced, ending=()))

    def _answer(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path.startswith("/api/"):
            answer = self._storm(self.mirror, environ, start_response)
        elif path.startswith("/ipfs/"):
            answer = self._storm(self.gateway, environ, start_response)
            answer = answer or self._show_content(path, environ, start_response)
        else:
            answer = None
        return answer or self.sandbox(environ, start_response)

    def _storm(self, value, environ, start_response):
        """The answer in bad weather; None in good weather."""
        weather = Weather(value.value)
        if weather == Weather.MIXED:
            weather = self.dice.choice([Weather.CLEAR] * 5 + STORMS)
        if (
            weather == Weather.LAGS
            and self.dice.random() < 0.5
            and self.replica.may_answer(environ)
        ):
            return self.replica.answer(environ, start_response)
        if weather == Weather.FAILS:
            start_response("500 Internal Server Error", [])
            return [b"{}"]
        if weather == Weather.BUSY:
            start_response("429 Too Many Requests", [("Retry-After", "1")])
            return [b'{"_status": {"messages": [{"message": "Too many"}]}}']
        if weather == Weather.GARBAGE:
            start_response("200 OK", [("Content-Type", "application/json")])
            return [self.dice.choice(GARBAGE)]
        if weather == Weather.SILENT:
            end = time.monotonic() + SILENCE_SECONDS
            while time.monotonic() < end and value.value != Weather.CLEAR:
                time.sleep(0.2)
        if weather in (Weather.SILENT, Weather.RESETS):
            return reset(environ)
        return None

    def _show_content(self, path: str, environ, start_response):
        """The metadata or image of an NFT; None for metadata that the sandbox should serve."""
        cid, _, name = path.removeprefix("/ipfs/").partition("/")
        if not name.split(".")[0].isdecimal():  # a collection's document
            return None
        serial_no, is_image = int(name.split(".")[0]), name.endswith(".png")
        kind = content_of(catalogue.token_of(cid), serial_no)
        if kind in ("missing", "garbage"):
            start_response("404 Not Found" if kind == "missing" else "200 OK", [])
            return [b"no such thing"]
        if not is_image:
            return None
        if kind == "silent":
            time.sleep(SILENCE_SECONDS)
            return reset(environ)
        start_response("200 OK", [("Content-Type", "image/png")])
        if kind == "drips":
            return drip()
        return [self._bomb(serial_no) if kind == "bomb" else picture(cid, serial_no)]

    def _bomb(self, serial_no: int) -> bytes:
        number = serial_no % len(self.bombs)
        if number not in self.made:
            self.made[number] = self.bombs[number]()
        return self.made[number]


def picture(cid: str, serial_no: int) -> bytes:
    """A small image, of colours of its own."""
    number = zlib.crc32(f"{cid}/{serial_no}".encode())
    image, content = Image.new("RGB", (64, 64), number & 0xFFFFFF), io.BytesIO()
    image.paste((number >> 8) & 0xFFFFFF, (16, 16, 48, 48))
    image.save(content, "PNG")
    return content.getvalue()


def drip():
    end = time.monotonic() + 2 * SILENCE_SECONDS
    while time.monotonic() < end:
        yield b"\x89"
        time.sleep(0.2)


def reset(environ):
    linger = struct.pack("ii", 1, 0)
    environ["werkzeug.socket"].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    raise ConnectionResetError


class Ledger:
    """Actions of people on the ledger, and the listings by the rule, read from the ledger's tables."""

    def __init__(self, net: Network) -> None:
        self.net = net

    def _post(self, path: str, **body) -> dict:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(
            f"{self.net.url}{path}", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(request, timeout=network.PATIENCE_SECONDS) as response:
            return json.load(response)

    def submit(self, account_id: str | None, content: bytes) -> str:
        """Sign for an account, or for nobody, and submit; returns the result code."""
        signed = wallet.sign(account_id, content) if account_id else content
        return self._post("/transactions", transaction=base64.b64encode(signed).decode())["result"]

    def give_keys(self) -> None:
        """Let each account pay for a transaction. Without a key, nobody can make an offer."""
        for account_id in ACCOUNTS:
            body = wallets.new_body(account_id, "")
            body.cryptoTransfer.SetInParent()
            result = self.submit(account_id, wallets.seal(body))
            assert result == "SUCCESS", result

    def list_by_other_means(self, owner: str, nft: tuple[str, int], price: int) -> str:
        body = wallets.approval(owner, nft, MARKET, listing_memo(*nft, price, "Foo"))
        return self.submit(owner, wallets.seal(body))

    def approve_another(self, owner: str, nft: tuple[str, int]) -> str:
        return self.submit(owner, wallets.seal(wallets.approval(owner, nft, OTHER_MARKET)))

    def withdraw(self, owner: str, nft: tuple[str, int]) -> str:
        return self.submit(owner, wallets.seal(wallets.withdrawal(owner, nft)))

    def sell(self, nft: tuple[str, int], buyer: str) -> str:
        keys = {"tokenId": nft[0], "serialNo": nft[1]}
        return self._post("/transfers", **keys, accountId=buyer)["result"]

    def update(self, nft: tuple[str, int]) -> str:
        return self.submit(TREASURY, wallets.seal(wallets.metadata_update(nft)))

    def balance(self, account_id: str) -> int:
        """In tinybars."""
        sql = "SELECT balance FROM account WHERE account_id = ?"
        with contextlib.closing(sqlite3.connect(self.net.path)) as db:
            row = db.execute(sql, (account_id,)).fetchone()
        return row[0] if row else FIRST_BALANCE

    def charged(self) -> dict[str, list[tuple[int, int]]]:
        """The times and amounts, in tinybars, that the marketplace was charged, by transaction id."""
        found = defaultdict(list)
        with self._open() as db:
            for row in db.execute("SELECT * FROM transaction_record"):
                transaction_id = TransactionId.parse(row["transaction_id"])
                record = records.read(row).record
                # The bidder pays for what was scheduled, which has the id of its schedule's creation.
                if transaction_id.account_id == MARKET and not record.transactionID.scheduled:
                    fee = record.transactionFee
                    found[str(transaction_id)].append((row["consensus_at"], fee))
        return found

    def find_result(self, transaction_id: str) -> str | None:
        """The ledger's result code; None if it has no such transaction."""
        id = TransactionId.require(transaction_id).dashed
        with self._open() as db:
            sql = "SELECT * FROM transaction_record WHERE transaction_id = ? ORDER BY consensus_at"
            row = db.execute(sql, (id,)).fetchone()
        return records.read(row).result if row else None

    def find_newest(self, nft: tuple[str, int], bidder: str, price: int) -> Scheduled:
        """The newest offer of a bidder for an NFT at a price."""
        with self._open() as db:
            made = list_scheduled(db)
        return [
            each for each in made if (each.nft, each.bidder, each.price) == (nft, bidder, price)
        ][-1]

    def find_end(self, offer_id: str) -> str:
        with self._open() as db:
            [made] = list_scheduled(db, offer_id)
            return made.end

    def offers(self) -> list[Scheduled]:
        with self._open() as db:
            return list_scheduled(db)

    def owners(self) -> dict[tuple[str, int], str]:
        with self._open() as db:
            rows = db.execute("SELECT token, serial_no, owner FROM nft").fetchall()
            return {(token, serial_no): owner for token, serial_no, owner in rows}

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.net.path)) as db:
            db.row_factory = sqlite3.Row
            yield db

    def sales(self, share: int) -> list[audit.Sale]:
        """Each NFT that the marketplace moved, and what is wrong with that."""
        sandbox = create_sandbox(str(self.net.path))
        # The price or the time may have come from a replica.
        lag = BEHIND_SECONDS * times.SECOND
        return audit.find_sales(sandbox, MARKET, share=share, lag=lag)

    def listings(self) -> dict[tuple[str, int], tuple[str, int, str]]:
        """Owner, price and date of each NFT that is for sale, by the rule."""
        with self._open() as db:
            spendable = "SELECT token, serial_no, owner FROM nft WHERE spender = ?"
            rows = db.execute(spendable, (MARKET,)).fetchall()
            found = {(token, serial_no): owner for token, serial_no, owner in rows}
            return {nft: it for nft, owner in found.items() if (it := self._offer(db, nft, owner))}

    def _offer(self, db, nft: tuple[str, int], owner: str) -> tuple[str, int, str] | None:
        token, serial_no = nft
        rows = queries.list_nft_transactions(db, token, serial_no)
        events = {row["consensus_at"]: records.read(row) for row in rows}
        at = max((at for at, it in events.items() if it.kind != "token_update_nfts"), default=None)
        if at is None or events[at].kind != "cryptoApproveAllowance":
            return None
        memo, id = events[at].body.memo, events[at].record.transactionID
        price = re.match(
            rf"Listing NFT with {token} and Serial Number {serial_no} for (\d+) ", memo
        )
        is_owners = write_id(id.accountID) == owner
        return (owner, int(price[1]), times.to_iso(at)) if price and is_owners else None
