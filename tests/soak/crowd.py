"""Who asks the service: sellers, readers, strangers and broken clients, each at a rate of its own."""

import base64
import http.client
import itertools
import json
import random
import re
import socket
import threading
import time
from contextlib import ExitStack, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from tests import lives
from tests.soak.books import ACCOUNTS, TOKENS, Asked, Books, Nft
from tests.soak.network import Ledger

PATIENCE_SECONDS = 60  # of a client; no fault lasts as long
REPORTS = 60  # of one listing, before its seller leaves it to the watcher
LINK = re.compile(r'<([^>]+)>; rel="next"')
GONE = (OSError, http.client.HTTPException)
WRITING = {"add", "prepare", "report"}


class Answer(NamedTuple):
    status: int  # 0 where there was none
    content: bytes
    headers: http.client.HTTPMessage | dict

    @property
    def json(self):
        return json.loads(self.content)


class Client:
    """One who asks, from an address of its own."""

    count = itertools.count(2)

    def __init__(self, crowd: "Crowd", token: str) -> None:
        self.books: Books = crowd.books
        self.ledger: Ledger = crowd.ledger
        self.crowd = crowd
        self.token = token
        self.port = crowd.port
        number = next(self.count)
        self.address = (f"127.0.{1 + number // 250}.{1 + number % 250}", 0)
        self.dice = random.Random(f"{crowd.seed} {number}")
        self.etags: dict[str, str] = {}
        self.connection = None

    def ask(self, kind: str, path: str, body=None, expected=(200,), **headers) -> Answer:
        """Ask once, on the connection of this step. What must not be answered is a finding."""
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        began = time.monotonic()
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=PATIENCE_SECONDS, source_address=self.address
                )
            self.connection.request("POST" if body is not None else "GET", path, body, headers)
            response = self.connection.getresponse()
            answer = Answer(response.status, response.read(), response.headers)
        except GONE as error:
            self.hang_up()
            answer = Answer(0, repr(error).encode(), {})
        self.crowd.judge(kind, path, began, answer, expected)
        return answer

    def hang_up(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def wait(self, answer: Answer) -> bool:
        """Wait as an answer says before the next try; False once all is over."""
        self.hang_up()  # who idles may be hung up on, and is to connect again
        seconds = int(answer.headers.get("Retry-After", 1))
        return not self.crowd.over.wait(min(seconds, 3) + self.dice.random())

    # Steps

    def add(self) -> None:
        nft = self.books.new_nft()
        keys = nft.wire | {"accountId": nft.owner}
        for _ in range(20):
            answer = self.ask("add", "/v1/add", keys)
            if answer.status == 200:
                self.books.acknowledge(nft)
                return
            if not self.wait(answer):
                return

    def list_nft(self) -> None:
        if nft := self.books.take():
            try:
                self._list(nft)
            finally:
                self.books.put_back(nft)

    def _list(self, nft: Nft) -> None:
        owner, price = nft.owner, self.dice.randint(1, 10**6)
        keys = nft.wire | {"accountId": owner}
        for _ in range(20):
            answer = self.ask("prepare", "/v1/list/extwallet", keys | {"listingPrice": price})
            if answer.status == 200:
                break
            if not self.wait(answer):
                return
        else:
            return
        content = base64.b64decode(answer.json["byteArray"])
        nft.signed.add((owner, price))
        result = self.ledger.submit(owner, content)
        if result != "SUCCESS":
            self.books.find(f"{nft.key}: the ledger refused a prepared listing: {result}")
            return
        nft.offer = owner, price
        self.books.counts["listings signed"] += 1
        if self.dice.random() > 0.1:  # the others are left to the watcher
            self._report(nft, keys | {"transactionId": _transaction_id(content)})

    def _report(self, nft: Nft, keys: dict) -> None:
        for _ in range(REPORTS):
            answer = self.ask("report", "/v1/comingsoon", keys, expected=(200, 202))
            if answer.status == 200:
                self.books.counts["listings acknowledged"] += 1
                self._look_at(nft)
                return
            if not self.wait(answer):
                return
        self.books.counts["reports given up"] += 1

    def _look_at(self, nft: Nft) -> None:
        """What was just acknowledged is what is read, whichever worker answers."""
        self.hang_up()
        path = f"/v1/nft/{nft.token}/{nft.serial_no}"
        answer = self.ask("nft", path)
        if answer.status == 200 and offer_in(answer.json) != nft.offer:
            self.books.find(
                f"{path} was acknowledged as {nft.offer}, and is {offer_in(answer.json)}"
            )

    def trade(self) -> None:
        """Do something on the ledger that the service is not told of."""
        nft = self.books.take(is_offered=self.dice.random() < 0.9)
        if nft is None:
            return
        try:
            self._trade(
                nft, self.dice.choice(("sell", "sell", "withdraw", "other", "update", "list"))
            )
        finally:
            self.books.put_back(nft)

    def _trade(self, nft: Nft, what: str) -> None:
        buyer = self.dice.choice([it for it in ACCOUNTS if it != nft.owner])
        if what == "sell":
            result, nft.offer, nft.owner = self.ledger.sell(nft.key, buyer), None, buyer
        elif what == "withdraw":
            result, nft.offer = self.ledger.withdraw(nft.owner, nft.key), None
        elif what == "other":
            result, nft.offer = self.ledger.approve_another(nft.owner, nft.key), None
        elif what == "update":
            result = self.ledger.update(nft.key)
        elif nft.offer:  # by whom the watcher asks about anyway
            offer = nft.owner, self.dice.randint(1, 10**6)
            nft.signed.add(offer)
            result = self.ledger.list_by_other_means(*nft.offer[:1], nft.key, offer[1])
            nft.offer = offer
        else:
            return
        self.books.counts[f"on the ledger: {what}"] += 1
        if result != "SUCCESS":
            self.books.find(f"{nft.key}: the ledger refused to {what}: {result}")

    def read(self) -> None:
        nft = self.books.take()
        if nft is not None:
            self.books.put_back(nft)
        what = self.dice.choice(
            (
                "book",
                "book",
                "priced",
                "user",
                "collection",
                "record",
                "nft",
                "nft",
                "image",
                "status",
            )
        )
        if what == "book":
            self._read_pages("orderbook", "/v1/orderbook", self.dice.randint(1, 6))
        elif what == "priced":
            query = self.dice.choice(
                ("price", "-price", f"price&tokenId={self.dice.choice(TOKENS)}")
            )
            self._read_pages("priced", f"/v1/orderbook?sort={query}&minPrice=2", 3)
        elif what == "record":
            path = f"/v1/collection/{self.dice.choice(TOKENS)}"
            self.ask("record", path, expected=(200, 404))
        elif what == "user":
            self._read_pages("user", f"/v1/user/{self.dice.choice(ACCOUNTS)}/listed?limit=50", 2)
        elif what == "collection":
            self._read_pages("collection", f"/v1/nftslisted/{self.dice.choice(TOKENS)}", 1)
        elif what == "status":
            self.ask("status", "/status" + self.dice.choice(("", "?alive")))
        elif nft is not None:
            self._read_nft(nft, wants_image=what == "image")

    def _read_pages(self, kind: str, path: str, most: int) -> None:
        for _ in range(most):
            etag = self.etags.get(path, '"none"')
            answer = self.ask(kind, path, expected=(200, 304), If_None_Match=etag)
            if answer.status != 200:
                return
            if "ETag" in answer.headers and len(self.etags) < 500:
                self.etags[path] = answer.headers["ETag"]
            self._check(kind, path, answer.json)
            link = LINK.search(answer.headers.get("Link", ""))
            if link is None:
                return
            parts = urlsplit(link[1])
            path = f"{parts.path}?{parts.query}"

    def _check(self, kind: str, path: str, rows: list) -> None:
        for row in rows:
            key = row["token"], row["serialNo"]
            nft = self.books.added.get(key)
            if nft is not None and offer_in(row) not in nft.signed:
                self.books.find(f"{path} shows {key} as {offer_in(row)}, which nobody signed")
        if kind == "priced":
            is_descending = "sort=-price" in path
            prices = [row["listingPrice"] for row in rows]
            if prices != sorted(prices, reverse=is_descending):
                self.books.find(f"{path} is out of order: {prices}")
            return
        dates = [row["lastListedDate"] for row in rows]
        if kind != "collection" and dates != sorted(dates, reverse=True):
            self.books.find(f"{path} is out of order: {dates}")

    def _read_nft(self, nft: Nft, wants_image: bool) -> None:
        path = f"/v1/nft/{nft.token}/{nft.serial_no}"
        answer = self.ask("nft", path)
        if answer.status != 200:
            return
        if answer.json["isForSale"]:
            self._check("nft", path, [answer.json])
        if wants_image:
            self.ask("image", urlsplit(answer.json["imageUrl"]).path)

    def be_strange(self) -> None:
        """What is refused, and how."""
        nft = {"accountId": ACCOUNTS[0], "tokenId": TOKENS[0], "serialNo": 1}
        path, body, expected = self.dice.choice(
            (
                ("/v1/add", b"{", (400,)),
                ("/v1/add", nft | {"serialNo": "x" * 5000}, (422,)),
                ("/v1/add", b'{"a":' * 10_000, (400,)),
                ("/v1/add", b" " * 200_000, (413,)),
                ("/v1/list/nowallet", nft | {"listingPrice": 1}, (404,)),
                ("/v1/list/extwallet", nft | {"listingPrice": -1}, (422,)),
                ("/v1/orderbook?limit=100000", None, (422,)),
                ("/v1/orderbook?page=%00", None, (422,)),
                ("/v1/nft/0.0.31337/99999999", None, (404,)),
                ("/v1/nft/x/y", None, (422, 404)),
                ("/v1/no/such/thing", None, (404,)),
                ("/v1/orderbook", b"", (405,)),
                ("/media/" + "0" * 64 + ".webp", None, (404,)),
            )
        )
        self.ask("strange", path, body, expected)

    def fail_to_authenticate(self) -> None:
        self.token = f"nftm_{self.dice.randrange(10**40):040}"
        self.ask(
            "wrong token", self.dice.choice(("/v1/orderbook", "/metrics")), expected=(401, 429)
        )

    def read_metrics(self) -> None:
        answer = self.ask("metrics", "/metrics")
        if answer.status == 200:
            self.crowd.compare_counts(answer.content.decode())

    def break_off(self) -> None:
        """Be a client that is no good: whatever happens to it, others must not notice."""
        names = ("_stop_halfway", "_drip", "_talk_nonsense", "_idle", "_disconnect")
        name = self.dice.choice(names)
        began = time.monotonic()
        with suppress(OSError), ExitStack() as stack:
            count = 100 if name == "_idle" else 1
            sockets = []
            for _ in range(count):
                made = socket.create_connection(("127.0.0.1", self.port), 10, self.address)
                sockets.append(stack.enter_context(made))
            getattr(self, name)(sockets)
        self.books.counts[f"broken: {name.strip('_').replace('_', ' ')}"] += 1
        self.books.counts["seconds of broken clients"] += time.monotonic() - began

    def _stop_halfway(self, sockets) -> None:
        sockets[0].sendall(b"POST /v1/add HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        self.crowd.over.wait(self.dice.uniform(1, 8))

    def _drip(self, sockets) -> None:
        head = f"POST /v1/add HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 60\r\n\r\n"
        sockets[0].sendall(head.encode())
        for _ in range(30):
            sockets[0].sendall(b" ")
            self.crowd.over.wait(0.3)

    def _talk_nonsense(self, sockets) -> None:
        head = b"POST /v1/add HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        nonsense = (
            self.dice.randbytes(400),
            head + b"zz\r\n",
            head + b"fffffffffffffffff\r\n{}",
            b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n",
            b"GET /status HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
            b"GET /status HTTP/9.9\r\nHost: x\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        )
        sockets[0].sendall(self.dice.choice(nonsense))
        answer = sockets[0].recv(1000)
        if re.match(rb"HTTP/1.\d 5(?!01|03|05)", answer):
            self.books.find(f"Nonsense was answered {answer[:200]}")

    def _idle(self, sockets) -> None:
        self.crowd.over.wait(self.dice.uniform(2, 8))

    def _disconnect(self, sockets) -> None:
        path = self.dice.choice(("/v1/orderbook", f"/v1/nftslisted/{TOKENS[0]}"))
        asked = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n\r\n"
        sockets[0].sendall(asked.encode() * 5)
        sockets[0].recv(100)


class Crowd:
    """All of them, until they are told to stop."""

    # How many of each, and how often each of them takes a step in a second.
    ROLES = {
        "add": (2, 1),
        "list_nft": (4, 0.5),
        "trade": (1, 0.7),
        "read": (8, 5),
        "be_strange": (1, 2),
        "fail_to_authenticate": (1, 1),
        "break_off": (3, 0.5),
        "read_metrics": (1, 0.5),
    }

    def __init__(self, books: Books, ledger: Ledger, port: int, tokens: dict, seed: int) -> None:
        self.books, self.ledger, self.port, self.tokens, self.seed = (
            books,
            ledger,
            port,
            tokens,
            seed,
        )
        self.over = threading.Event()
        self.counted = 0.0
        self.threads = [
            threading.Thread(target=self._run, args=(role, rate), name=role)
            for role, (count, rate) in self.ROLES.items()
            for _ in range(count)
        ]

    def client(self, role: str) -> Client:
        token = "metrics" if role == "read_metrics" else "reader" if role == "read" else "seller"
        return Client(self, self.tokens[token])

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(2 * PATIENCE_SECONDS)
            if thread.is_alive():
                self.books.find(f"A client ({thread.name}) never ended")

    def _run(self, role: str, rate: float) -> None:
        client = self.client(role)
        while not self.over.wait(client.dice.expovariate(rate)):
            try:
                getattr(client, role)()
            except Exception as error:
                self.books.find(f"A client ({role}) failed: {error!r}")
            client.hang_up()

    def flood(self, seconds: float, clients: int = 16) -> None:
        """Let many clients of one token and one address ask as fast as they can."""
        end = time.monotonic() + seconds
        first = self.client("flood")

        def ask():
            client = self.client("flood")
            client.address = first.address
            while time.monotonic() < end and not self.over.is_set():
                body = {"accountId": ACCOUNTS[0], "tokenId": "0.0.31337", "serialNo": 1}
                kind, path, body = client.dice.choice(
                    (("flood", "/v1/orderbook", None), ("flood of adds", "/v1/add", body))
                )
                client.ask(kind, path, body, expected=(200, 429))
            client.hang_up()

        threads = [threading.Thread(target=ask) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def judge(self, kind: str, path: str, began: float, answer: Answer, expected) -> None:
        """Note what was answered, and whether it may be."""
        ended, status = time.monotonic(), answer.status
        self.books.asked.append(Asked(kind, status, began, ended - began))
        about = f"{kind} {path[:80]} was answered {status} after {ended - began:.1f} s"
        about += f" ({answer.headers.get('X-Request-ID')}): {answer.content[:200]!r}"
        faults = self.books.during(began, ended)
        about += f", during {', '.join(faults)}" if faults else ""
        if status in expected:
            return
        if status == 503:
            self.books.counts["503 in a fault" if faults else "503 without a fault"] += 1
        is_excused = (
            (status == 503 and "Retry-After" in answer.headers)
            or (status == 502 and any("nonsense" in name or "mixed" in name for name in faults))
            or (status == 429 and (kind in WRITING or kind == "strange"))
            or (status == 0 and self.books.during(began, ended, cuts=True))
        )
        if not is_excused:
            self.books.find(about)
        if status >= 400 and b'"message"' not in answer.content:
            self.books.find(f"An error without a message: {about}")

    def compare_counts(self, text: str) -> None:
        """The requests that the service counted are never fewer than before."""
        counts = re.findall(
            r"^marketplace_request_duration_seconds_count\{.*\} ([0-9.e+]+)$", text, re.MULTILINE
        )
        counted = sum(map(float, counts))
        if counted < self.counted:
            self.books.find(f"A counter fell, from {self.counted} to {counted}")
        self.counted = counted


def offer_in(row: dict) -> tuple[str, int] | None:
    """The owner and the price that an answer shows."""
    return (row["owner"]["accountId"], row["listingPrice"]) if row["isForSale"] else None


def _transaction_id(content: bytes) -> str:
    return str(lives.id_of(content))
