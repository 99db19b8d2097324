"""Strangers and broken clients: their requests are refused or make no sense, and must not hurt others."""

import re
import socket
import time
from contextlib import ExitStack, suppress

from stress.soak.books import ACCOUNTS, TOKENS
from stress.soak.client import Client


class Stranger(Client):
    def be_strange(self) -> None:
        """Send a request that must be refused with a certain status."""
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

    def break_off(self) -> None:
        """Be a broken client. Whatever happens to it, others must not notice."""
        names = ("_stop_halfway", "_drip", "_send_garbage", "_idle", "_disconnect")
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

    def _send_garbage(self, sockets) -> None:
        head = b"POST /v1/add HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        garbage = (
            self.dice.randbytes(400),
            head + b"zz\r\n",
            head + b"fffffffffffffffff\r\n{}",
            b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n",
            b"GET /status HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
            b"GET /status HTTP/9.9\r\nHost: x\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        )
        sockets[0].sendall(self.dice.choice(garbage))
        answer = sockets[0].recv(1000)
        if re.match(rb"HTTP/1.\d 5(?!01|03|05)", answer):
            self.books.find(f"Garbage was answered {answer[:200]}")

    def _idle(self, sockets) -> None:
        self.crowd.over.wait(self.dice.uniform(2, 8))

    def _disconnect(self, sockets) -> None:
        path = self.dice.choice(("/v1/orderbook", f"/v1/nftslisted/{TOKENS[0]}"))
        asked = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n\r\n"
        sockets[0].sendall(asked.encode() * 5)
        sockets[0].recv(100)
