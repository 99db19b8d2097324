"""Buyers: they hand their signature in once, twice, late, never, or race with another; some leave it out."""

import base64
import time

from marketplace.hedera.hbar import TINYBARS
from marketplace.sandbox import wallet
from stress.soak.books import Nft
from stress.soak.client import Answer
from stress.soak.network import MARKET
from stress.soak.traders import Trader, content_of, transaction_id

FRESH_SECONDS = 150  # of the three minutes that a purchase is valid
TRIES = 4
KEPT = 3  # purchases of one NFT that may be handed in later
NEVER_ASKED_FOR = 10**7  # HBAR
POOR = "INSUFFICIENT_ACCOUNT_BALANCE"
# How often a buyer does what with a purchase that was prepared.
WAYS = {"hand in": 6, "keep": 2, "hand in twice": 1, "leave the signature out": 1, "race": 2}


class Buyer(Trader):
    def buy(self) -> None:
        nft = self.books.take(is_offered=True if self.dice.random() < 0.9 else None)
        if nft is None:
            return
        try:
            if nft.kept and self.dice.random() < 0.5:
                self._hand_in_late(nft)
            elif nft.offer:
                self._buy(nft)
        finally:
            self.books.put_back(nft)

    def _buy(self, nft: Nft) -> None:
        way = self.dice.choices(list(WAYS), WAYS.values())[0]
        buyer, began = self.another_than(nft.owner), time.monotonic()
        content = self._prepare(nft, buyer)
        if content is None:
            return
        if way == "race":
            self._race(nft, buyer, content, began)
        elif way == "keep":
            nft.kept = [*nft.kept[1 - KEPT :], (buyer, content)]
        elif way == "leave the signature out":
            self._leave_the_signature_out(nft, buyer, content)
        else:
            self._hand_in(nft, buyer, content, began, twice=way == "hand in twice")
        self.books.counts[f"purchases: {way}"] += 1

    def _prepare(self, nft: Nft, buyer: str) -> bytes | None:
        """Prepare a purchase; returns its bytes, or None if the service refused it or did not answer."""
        keys = nft.wire | {"accountId": buyer}
        if self.dice.random() < 0.05:
            other = keys | {"expectedPrice": NEVER_ASKED_FOR}
            self.ask("buy", "/v1/buy/extwallet", other, expected=(409,))
        if self.dice.random() < 0.5:
            keys["expectedPrice"] = nft.offer[1]
        began = time.monotonic()
        was_poor = self.ledger.balance(buyer) < nft.offer[1] * TINYBARS
        prepared = self.prepare("buy", "buy", keys, TRIES, expected=(200, 409))
        if prepared is None:
            return None
        if prepared.status == 409:
            self._judge_refusal(nft, buyer, prepared, was_poor, began)
            return None
        content = content_of(prepared)
        if not transaction_id(content).startswith(f"{MARKET}@"):
            self.books.find(
                f"{nft.key}: {buyer} got a purchase that is not the marketplace's to pay"
            )
        return content

    def _judge_refusal(
        self, nft: Nft, buyer: str, answer: Answer, was_poor: bool, began: float
    ) -> None:
        """A finding, unless a replica lags or the buyer is too poor: they may be buying something else."""
        is_poor = was_poor or self.ledger.balance(buyer) < nft.offer[1] * TINYBARS
        if is_poor and POOR.encode() in answer.content:
            self.books.counts["purchases too dear"] += 1
        elif self.books.is_behind(began):
            self.books.counts["purchases refused by a replica"] += 1
        else:
            offer = f"{nft.key}, offered as {nft.offer}"
            self.books.find(f"{offer}, was not sold to {buyer}: {answer.content}")

    def _post(self, nft: Nft, buyer: str, content: bytes, expected: tuple[int, ...]) -> Answer:
        """Hand a transaction in until the service decides. A repeated request submits the same bytes."""
        keys = nft.wire | {"accountId": buyer}
        keys["signedTransaction"] = base64.b64encode(content).decode()
        for _ in range(TRIES):
            answer = self.ask("buy", "/v1/comingsoon", keys, expected)
            if answer.status in expected or not self.wait(answer):
                break
        return answer

    def _hand_in(
        self, nft: Nft, buyer: str, content: bytes, began: float, *, twice=False, late=False
    ) -> None:
        """Sign a purchase and hand it in. What the ledger has of it, whatever was answered, is so."""
        seller, id = nft.owner, transaction_id(content)
        signed = wallet.sign(buyer, content)
        answer = self._post(nft, buyer, signed, expected=(200, 202, 409))
        result = self.ledger.find_result(id)
        self.books.counts[f"purchases on the ledger: {result}"] += 1
        if answer.status in (200, 202):
            self.books.purchases[id] = nft.key, buyer
        if result == "SUCCESS":
            if nft.offer is None:
                self.books.find(f"{nft.key} was sold to {buyer}, and nobody offered it")
            nft.owner, nft.offer = buyer, None
            if twice:
                self._post(nft, buyer, signed, expected=(200, 202))
            self._report(nft, buyer, content, seller)
        elif answer.status == 409 and not late:
            is_fresh = time.monotonic() - began < FRESH_SECONDS
            if result != POOR and is_fresh and nft.offer:
                self._judge_refusal(nft, buyer, answer, False, began)

    def _report(self, nft: Nft, buyer: str, content: bytes, seller: str) -> None:
        if self.dice.random() < 0.3:  # these are left to the watcher
            return
        keys = nft.wire | {"accountId": buyer}
        if self.dice.random() < 0.7:
            keys["transactionId"] = transaction_id(content)
        self.report(nft, keys, seller, "purchases")

    def _hand_in_late(self, nft: Nft) -> None:
        """Hand in what was kept. It may have expired, and the NFT may have another owner or price by now."""
        buyer, content = nft.kept.pop()
        self.books.counts["purchases: hand in late"] += 1
        self._hand_in(nft, buyer, content, time.monotonic(), late=True)

    def _leave_the_signature_out(self, nft: Nft, buyer: str, content: bytes) -> None:
        answer = self._post(nft, buyer, content, expected=(409,))
        if result := self.ledger.find_result(transaction_id(content)):
            self.books.find(f"{nft.key}: {buyer} did not sign, and the ledger has it: {result}")
        self.books.counts["purchases without a signature refused"] += answer.status == 409

    def _race(self, nft: Nft, buyer: str, content: bytes, began: float) -> None:
        """Two buyers of one NFT: one gets it, and the other is refused before anything is paid."""
        handed, rival = [(buyer, content)], self.another_than(nft.owner, buyer)
        if theirs := self._prepare(nft, rival):
            handed.append((rival, theirs))
        self.dice.shuffle(handed)
        for who, what in handed:
            self._hand_in(nft, who, what, began)
