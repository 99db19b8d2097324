"""A client that signs what the service has prepared, and may report it: the base of sellers and buyers."""

import base64

from harness import wallets
from stress.soak.books import ACCOUNTS, Nft
from stress.soak.client import Answer, Client, offer_in

REPORTS = 60  # of one transaction, before it is left to the watcher
TRIES = 20


class Trader(Client):
    def another_than(self, *account_ids: str) -> str:
        return self.dice.choice([it for it in ACCOUNTS if it not in account_ids])

    def prepare(
        self, kind: str, what: str, keys: dict, tries: int = TRIES, expected=(200,)
    ) -> Answer | None:
        """Ask for a transaction; returns the first expected answer, or None if there is none."""
        for _ in range(tries):
            answer = self.ask(kind, f"/v1/{what}/extwallet", keys, expected)
            if answer.status in expected:
                return answer
            if not self.wait(answer):
                break
        return None

    def report(self, nft: Nft, keys: dict, seller: str, kind: str) -> None:
        """Report until it is acknowledged. Then the same must be read."""
        if self.report_until_seen(keys, kind):
            self.look_at(nft, seller)

    def report_until_seen(self, keys: dict, kind: str) -> bool:
        for _ in range(REPORTS):
            answer = self.ask("report", "/v1/comingsoon", keys, expected=(200, 202))
            if answer.status == 200:
                self.books.counts[f"{kind} acknowledged"] += 1
                return True
            if not self.wait(answer):
                return False
        self.books.counts["reports given up"] += 1
        return False

    def look_at(self, nft: Nft, seller: str) -> None:
        """What was just acknowledged must be read, whichever worker answers."""
        self.hang_up()
        path = f"/v1/nft/{nft.token}/{nft.serial_no}"
        answer = self.ask("nft", path)
        if answer.status == 200:
            shown = answer.json["owner"]["accountId"], offer_in(answer.json)
            if shown != (nft.owner, nft.offer):
                expected = nft.owner, nft.offer
                self.books.find(f"{path} was acknowledged as {expected}, and is {shown}")
        # The newest come first: what was listed just now is among them.
        path = f"/v1/user/{seller}/listed?limit=50"
        answer = self.ask("user", path)
        if answer.status == 200:
            listed = {(row["token"], row["serialNo"]): offer_in(row) for row in answer.json}
            if listed.get(nft.key) != nft.offer:
                shown = listed.get(nft.key)
                self.books.find(
                    f"{path} shows {nft.key} as {shown}, acknowledged as {nft.offer} before"
                )


def content_of(prepared: Answer) -> bytes:
    return base64.b64decode(prepared.json["byteArray"])


def transaction_id(content: bytes) -> str:
    return str(wallets.id_of(content))
