"""Buyers: they sign and report, sign and do not report, sign too late, or never, or race with another."""

import time

from marketplace.hedera.hbar import TINYBARS
from stress.soak.books import Nft
from stress.soak.client import Answer
from stress.soak.network import MARKET
from stress.soak.traders import Trader, content_of, transaction_id

FRESH_SECONDS = 45  # of the minute that a purchase is valid
TRIES = 4
KEPT = 3  # purchases of one NFT that may be signed later
NEVER_ASKED_FOR = 10**7  # HBAR
EXPIRED = "TRANSACTION_EXPIRED"
POOR = "INSUFFICIENT_ACCOUNT_BALANCE"
# How often a buyer does what with a purchase that the service has signed.
WAYS = {"sign": 6, "never sign": 2, "sign twice": 1, "leave the signature out": 1, "race": 2}


class Buyer(Trader):
    def buy(self) -> None:
        nft = self.books.take(is_offered=True if self.dice.random() < 0.9 else None)
        if nft is None:
            return
        try:
            if nft.kept and self.dice.random() < 0.5:
                self._sign_late(nft)
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
        elif way == "never sign":
            nft.kept = [*nft.kept[1 - KEPT :], (buyer, content)]
        elif way == "leave the signature out":
            self._leave_the_signature_out(nft, buyer, content)
        else:
            self._sign(nft, buyer, content, began, twice=way == "sign twice")
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
        self._note_handed_out(nft, buyer, transaction_id(content))
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

    def _note_handed_out(self, nft: Nft, buyer: str, handed: str) -> None:
        first = self.books.purchases.get(handed, (nft.key, buyer))
        if first != (nft.key, buyer):  # who asks again while it is open gets the same one
            self.books.find(f"{handed} was handed out for {first}, and then for {nft.key}, {buyer}")
        if not handed.startswith(f"{MARKET}@"):
            self.books.find(f"{handed}, handed out to {buyer}, is not the marketplace's to pay")
        self.books.purchases[handed] = nft.key, buyer

    def _submit(self, nft: Nft, buyer: str | None, content: bytes) -> str:
        result = self.ledger.submit(buyer, content)
        self.books.counts[f"purchases on the ledger: {result}"] += 1
        if result == "SUCCESS":
            if nft.offer is None:
                self.books.find(f"{nft.key} was sold to {buyer}, and nobody offered it")
            nft.owner, nft.offer = buyer, None
        return result

    def _sign(self, nft: Nft, buyer: str, content: bytes, began: float, *, twice=False) -> bool:
        """Sign a purchase and submit it immediately; returns whether it succeeded."""
        seller, result = nft.owner, self._submit(nft, buyer, content)
        if twice and result == "SUCCESS":
            again = self._submit(nft, buyer, content)
            if again != "DUPLICATE_TRANSACTION":
                self.books.find(f"{nft.key}: the ledger says {again} to the same purchase again")
        if result == "SUCCESS":
            self._report(nft, buyer, content, seller)
        elif not self._is_excused(result, began):
            self.books.find(f"{nft.key}: the ledger refused a prepared purchase: {result}")
        return result == "SUCCESS"

    def _is_excused(self, result: str, began: float) -> bool:
        """Whether the ledger may refuse what was prepared just now, through no fault of the service."""
        is_late = time.monotonic() - began > FRESH_SECONDS
        return result == POOR or (result == EXPIRED and is_late) or self.books.is_behind(began)

    def _report(self, nft: Nft, buyer: str, content: bytes, seller: str) -> None:
        if self.dice.random() < 0.3:  # these are left to the watcher
            return
        keys = nft.wire | {"accountId": buyer}
        if self.dice.random() < 0.7:
            keys["transactionId"] = transaction_id(content)
        self.report(nft, keys, seller, "purchases")

    def _sign_late(self, nft: Nft) -> None:
        """Sign what was handed out before. It may have expired, and the NFT may have another owner by now."""
        (buyer, content), seller = nft.kept.pop(), nft.owner
        result = self._submit(nft, buyer, content)
        self.books.counts["purchases: sign late"] += 1
        if result == "SUCCESS":
            self._report(nft, buyer, content, seller)
        elif result != EXPIRED:
            self._report_refusal(nft, buyer, content)

    def _leave_the_signature_out(self, nft: Nft, buyer: str, content: bytes) -> None:
        result = self._submit(nft, None, content)
        if result == "INVALID_SIGNATURE":
            self._report_refusal(nft, buyer, content)
        elif result != EXPIRED:
            self.books.find(f"{nft.key}: {buyer} did not sign, and the ledger says {result}")

    def _report_refusal(self, nft: Nft, buyer: str, content: bytes) -> None:
        """Report what the ledger has refused: it is never acknowledged."""
        if self.dice.random() < 0.5:
            return
        keys = nft.wire | {"accountId": buyer, "transactionId": transaction_id(content)}
        answer = self.ask("report", "/v1/comingsoon", keys, expected=(202, 409))
        self.books.counts["refused purchases reported"] += answer.status == 409

    def _race(self, nft: Nft, buyer: str, content: bytes, began: float) -> None:
        """Two buyers of one NFT: one pays, and the ledger refuses the other."""
        handed, rival = [(buyer, content)], self.another_than(nft.owner, buyer)
        if theirs := self._prepare(nft, rival):
            handed.append((rival, theirs))
        self.dice.shuffle(handed)
        for who, what in handed:
            if nft.offer:
                self._sign(nft, who, what, began)
            else:
                self._submit(nft, who, what)
