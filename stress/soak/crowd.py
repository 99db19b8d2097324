"""All clients of the service, each with a rate of its own, and which answers are findings."""

import threading
import time

from stress.soak.bidders import Bidder
from stress.soak.books import ACCOUNTS, BIDDERS, BUYERS, LAGGING, Asked, Books
from stress.soak.buyers import Buyer
from stress.soak.client import PATIENCE_SECONDS, Answer, Client
from stress.soak.network import Ledger
from stress.soak.readers import Reader
from stress.soak.sellers import Seller
from stress.soak.strangers import Stranger

OF_OFFERS = {"offer", "accept", "retract"}
WRITING = {"add", "prepare", "withdraw", "buy", "report"} | OF_OFFERS


class Crowd:
    """All clients, until stop() is called."""

    # For each step: the class of its clients, how many there are, and how often each takes it in a second.
    ROLES = {
        "add": (Seller, 2, 1),
        "list_nft": (Seller, 4, 0.5),
        "withdraw": (Seller, 1, 0.4),
        "trade": (Seller, 1, 0.5),
        "buy": (Buyer, len(BUYERS), 0.5),
        "bid": (Bidder, len(BIDDERS), 0.5),
        "read": (Reader, 8, 5),
        "be_strange": (Stranger, 1, 2),
        "fail_to_authenticate": (Stranger, 1, 1),
        "break_off": (Stranger, 3, 0.5),
        "read_metrics": (Reader, 1, 0.5),
    }
    # The names of their access tokens, which they take in turn. The clients of other steps have the sellers'.
    TOKENS = {"read_metrics": ["metrics"], "read": ["reader"], "buy": BUYERS, "bid": BIDDERS}

    def __init__(self, books: Books, ledger: Ledger, port: int, tokens: dict, seed: int) -> None:
        self.books, self.ledger = books, ledger
        self.port, self.tokens, self.seed = port, tokens, seed
        self.over = threading.Event()
        self.threads = [
            threading.Thread(target=self._run, args=(role, kind, number, rate), name=role)
            for role, (kind, count, rate) in self.ROLES.items()
            for number in range(count)
        ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(2 * PATIENCE_SECONDS)
            if thread.is_alive():
                self.books.find(f"A client ({thread.name}) never ended")

    def _run(self, role: str, kind: type[Client], number: int, rate: float) -> None:
        names = self.TOKENS.get(role, ["seller"])
        client = kind(self, self.tokens[names[number % len(names)]])
        while not self.over.wait(client.dice.expovariate(rate)):
            try:
                getattr(client, role)()
            except Exception as error:
                self.books.find(f"A client ({role}) failed: {error!r}")
            client.hang_up()

    def flood(self, seconds: float, clients: int = 16) -> None:
        """Let many clients of one token and one address ask as fast as they can."""
        end = time.monotonic() + seconds
        first = Client(self, self.tokens["seller"])

        def ask():
            client = Client(self, first.token)
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
        """Record an answer, and a finding if the answer must not be."""
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
            or (status == 502 and any("garbage" in name or "mixed" in name for name in faults))
            or (status == 409 and kind in WRITING and not LAGGING.isdisjoint(faults))
            or (status == 429 and (kind in WRITING or kind == "strange"))
            or (status == 0 and self.books.during(began, ended, cuts=True))
        )
        if not is_excused:
            self.books.find(about)
        if status >= 400 and b'"message"' not in answer.content:
            self.books.find(f"An error without a message: {about}")
