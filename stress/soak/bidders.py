"""Bidders: they make offers, or never sign them, and withdraw them; owners accept or decline them."""

import time

from stress.soak.books import MOST_BIDS, Bid, Nft
from stress.soak.client import Answer
from stress.soak.traders import Trader, content_of

HIGHEST = 60  # HBAR
TOO_POOR = "INSUFFICIENT_PAYER_BALANCE"  # for the fee
ENDS = {"executed", "failed: INSUFFICIENT_ACCOUNT_BALANCE", f"failed: {TOO_POOR}"}  # if accepted
# How often what is done with an offer that the service has prepared, and with one that is open.
FIRST = {"sign": 8, "never sign": 1}
THEN = {"accept": 5, "withdraw": 3, "decline": 1}
# Why an offer may be refused through no fault of the service.
REFUSED = "BUYER_BALANCE_TOO_LOW"


class Bidder(Trader):
    def bid(self) -> None:
        """Make an offer for an NFT, or go on with one."""
        goes_on = self.dice.random() < 0.5
        nft = self.books.take(has_bids=goes_on)
        if nft is None:
            return
        try:
            if goes_on or len(nft.open_bids) >= MOST_BIDS:
                self._go_on(nft, self.dice.choice(nft.open_bids))
            else:
                self._make(nft)
        finally:
            self.books.put_back(nft)

    def _make(self, nft: Nft) -> None:
        bidder, price = self.another_than(nft.owner), self.dice.randint(1, HIGHEST)
        keys = nft.wire | {"accountId": bidder, "offerPrice": price}
        keys["expiresIn"] = self.dice.randint(1, 3)
        self.books.bids_asked[nft.key, bidder, price] += 1
        prepared = self._ask("offer", "/v1/offer/extwallet", keys)
        if prepared is None:
            return
        way = self._choose(FIRST)
        self.books.counts[f"offers: {way}"] += 1
        if way == "never sign":
            return
        result = self.ledger.submit(bidder, content_of(prepared))
        self.books.counts[f"offers made: {result}"] += 1
        if result == "SUCCESS":
            made = self.ledger.find_newest(nft.key, bidder, price)
            bid = Bid(made.offer_id, made.seller, bidder, price, time.monotonic())
            nft.bids[bid.offer_id] = bid
            if self.dice.random() < 0.7:
                self.report_until_seen(nft.wire | {"accountId": bidder}, "offers")
        elif result not in (TOO_POOR, "IDENTICAL_SCHEDULE_ALREADY_CREATED"):
            self.books.find(f"{keys}: the ledger refused a prepared offer: {result}")

    def _ask(self, kind: str, path: str, body) -> Answer | None:
        began = time.monotonic()
        answer = self.ask(kind, path, body, expected=(200, 409))
        if answer.status == 409:
            self._judge_refusal(kind, path, answer, began)
        return answer if answer.status == 200 else None

    def _judge_refusal(self, kind: str, path: str, answer: Answer, began: float) -> None:
        reason = answer.json["reason"]
        self.books.counts[f"{kind}: {reason}"] += 1
        if reason != REFUSED and not self.books.is_behind(began):
            self.books.find(f"{path} was refused: {answer.content}")

    def _go_on(self, nft: Nft, bid: Bid) -> None:
        way = self._choose(THEN)
        if way == "accept" and nft.owner != bid.seller:
            way = "withdraw"
        self.books.counts[f"offers: {way}"] += 1
        if way == "accept":
            return self._accept(nft, bid)
        return self._end(nft, bid, bid.bidder if way == "withdraw" else bid.seller)

    def _choose(self, ways: dict[str, int]) -> str:
        return self.dice.choices(list(ways), ways.values())[0]

    def _note_refused(self, bid: Bid, kind: str, result: str) -> None:
        if result == TOO_POOR:
            self.books.counts[f"{kind}: {result}"] += 1
        else:
            self.books.find(f"{bid}: the ledger refused a prepared {kind}: {result}")

    def _accept(self, nft: Nft, bid: Bid) -> None:
        keys = {"accountId": nft.owner, "offerId": bid.offer_id, "expectedPrice": bid.price}
        prepared = self._ask("accept", "/v1/acceptoffer/extwallet", keys)
        if prepared is None:
            return
        seller, result = nft.owner, self.ledger.submit(nft.owner, content_of(prepared))
        if result != "SUCCESS":
            self._note_refused(bid, "acceptance", result)
            return
        bid.end = self.ledger.find_end(bid.offer_id)
        self.books.counts[f"offers accepted: {bid.end}"] += 1
        if bid.end == "executed":
            nft.owner, nft.offer = bid.bidder, None
            if self._report(nft, bid, seller, "acceptances"):
                self.look_at(nft, seller)
        elif bid.end not in ENDS:
            self.books.find(f"{bid} was accepted, and is {bid.end}")

    def _end(self, nft: Nft, bid: Bid, account_id: str) -> None:
        """The bidder or the owner deletes the schedule."""
        keys = {"accountId": account_id, "offerId": bid.offer_id}
        prepared = self._ask("retract", "/v1/withdrawoffer/extwallet", keys)
        if prepared is None:
            return
        result = self.ledger.submit(account_id, content_of(prepared))
        if result != "SUCCESS":
            self._note_refused(bid, "withdrawal", result)
            return
        bid.end = "deleted"
        self._report(nft, bid, account_id, "offer withdrawals")

    def _report(self, nft: Nft, bid: Bid, account_id: str, kind: str) -> bool:
        """Report until it is acknowledged, or leave it to the watcher. Then the same must be read."""
        if self.dice.random() < 0.3:
            return False
        keys = {"accountId": account_id, "offerId": bid.offer_id}
        if not self.report_until_seen(keys, kind):
            return False
        self._look_at_offers(nft, bid)
        return True

    def _look_at_offers(self, nft: Nft, bid: Bid) -> None:
        """What was just acknowledged of an offer must be read, whichever worker answers."""
        self.hang_up()
        path = f"/v1/nft/{nft.token}/{nft.serial_no}/offers?limit=100"
        answer = self.ask("offers", path)
        if answer.status != 200:
            return
        shown = {row["offerId"]: (row["to"]["accountId"], row["price"]) for row in answer.json}
        if bid.end:
            is_wrong = bid.offer_id in shown
        else:  # for the present owner, unless the service may know a former one
            is_due = nft.owner == bid.seller and not self.books.is_behind(bid.began)
            is_wrong = is_due and shown.get(bid.offer_id) != (bid.bidder, bid.price)
        if is_wrong:
            self.books.find(f"{path} shows {shown}, and {bid} was acknowledged")
