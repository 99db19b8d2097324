"""A client that asks the service from an address of its own, and has the answers judged."""

import http.client
import itertools
import json
import random
import time
from typing import NamedTuple

from stress.soak.books import Books
from stress.soak.network import Ledger

PATIENCE_SECONDS = 60  # of a client; no fault lasts as long
GONE = (OSError, http.client.HTTPException)


class Answer(NamedTuple):
    status: int  # 0 where there was none
    content: bytes
    headers: http.client.HTTPMessage | dict

    @property
    def json(self):
        return json.loads(self.content)


class Client:
    """A client with an address of its own."""

    count = itertools.count(2)

    def __init__(self, crowd, token: str) -> None:
        """``crowd`` knows the books, the ledger and the service, and judges the answers."""
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

    def ask(
        self, kind: str, path: str, body=None, expected=(200,), method=None, **headers
    ) -> Answer:
        """Ask once, on the connection of this step. An answer that must not be is a finding."""
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        method = method or ("GET" if body is None else "POST")
        began = time.monotonic()
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=PATIENCE_SECONDS, source_address=self.address
                )
            self.connection.request(method, path, body, headers)
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
        """Wait before the next try, as an answer says; returns False if the run is over."""
        self.hang_up()  # the service may close an idle connection
        seconds = int(answer.headers.get("Retry-After", 1))
        return not self.crowd.over.wait(min(seconds, 3) + self.dice.random())


def offer_in(row: dict) -> tuple[str, int] | None:
    """The owner and the price that an answer shows."""
    return (row["owner"]["accountId"], row["listingPrice"]) if row["isForSale"] else None
