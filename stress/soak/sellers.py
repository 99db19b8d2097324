"""Sellers: they add, list and withdraw, and do things on the ledger without a report to the service."""

from stress.soak.books import Nft
from stress.soak.traders import TRIES, Trader, content_of, transaction_id

PRICE, DEAR = 300, 10**6  # HBAR: the highest price of most, and one that nobody can pay
POOR = "INSUFFICIENT_PAYER_BALANCE"


class Seller(Trader):
    def draw_price(self) -> int:
        return self.dice.randint(1, DEAR if self.dice.random() < 0.05 else PRICE)

    def add(self) -> None:
        nft = self.books.new_nft()
        keys = nft.wire | {"accountId": nft.owner}
        for _ in range(TRIES):
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
        owner, price = nft.owner, self.draw_price()
        keys = nft.wire | {"accountId": owner}
        prepared = self.prepare("prepare", "list", keys | {"listingPrice": price})
        if prepared is None:
            return
        content = content_of(prepared)
        nft.signed.add((owner, price))
        if not self._sign(nft, "listing", content):
            return
        nft.offer = owner, price
        self.books.counts["listings signed"] += 1
        if self.dice.random() > 0.1:  # the others are left to the watcher
            named = keys | {"transactionId": transaction_id(content)}
            self.report(nft, named, owner, "listings")

    def withdraw(self) -> None:
        if nft := self.books.take(is_offered=True):
            try:
                self._withdraw(nft)
            finally:
                self.books.put_back(nft)

    def _withdraw(self, nft: Nft) -> None:
        keys = nft.wire | {"accountId": nft.owner}
        prepared = self.prepare("withdraw", "delist", keys)
        if prepared is None or self.dice.random() < 0.1:  # some change their minds and never sign
            return
        content = content_of(prepared)
        if not self._sign(nft, "withdrawal", content):
            return
        nft.offer = None
        self.books.counts["withdrawals signed"] += 1
        if self.dice.random() > 0.3:
            named = keys | {"transactionId": transaction_id(content)}
            named = named if self.dice.random() < 0.7 else keys
            self.report(nft, named, nft.owner, "withdrawals")

    def _sign(self, nft: Nft, kind: str, content: bytes) -> bool:
        """Sign for the owner, who pays, and submit; returns whether it succeeded."""
        result = self.ledger.submit(nft.owner, content)
        if result == POOR:
            self.books.counts[f"{kind}: {result}"] += 1
        elif result != "SUCCESS":
            self.books.find(f"{nft.key}: the ledger refused a prepared {kind}: {result}")
        return result == "SUCCESS"

    def trade(self) -> None:
        """Do something on the ledger without a report to the service."""
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
        owner, offer = nft.owner, None
        if what == "sell":
            owner = self.another_than(nft.owner)
            result = self.ledger.sell(nft.key, owner)
        elif what == "withdraw":
            result = self.ledger.withdraw(nft.owner, nft.key)
        elif what == "other":
            result = self.ledger.approve_another(nft.owner, nft.key)
        elif what == "update":
            offer, result = nft.offer, self.ledger.update(nft.key)
        elif nft.offer:  # the watcher asks about this seller anyway
            offer = nft.owner, self.draw_price()
            nft.signed.add(offer)
            result = self.ledger.list_by_other_means(nft.owner, nft.key, offer[1])
        else:
            return
        self.books.counts[f"on the ledger: {what}"] += 1
        if result == "SUCCESS":
            nft.owner, nft.offer = owner, offer
        elif result != POOR:
            self.books.find(f"{nft.key}: the ledger refused to {what}: {result}")
