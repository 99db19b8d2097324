"""Readers of the order book, of lists and records, of images, and of metrics."""

import re
from urllib.parse import urlsplit

from stress.soak.books import ACCOUNTS, TOKENS, Nft
from stress.soak.client import Client, offer_in

LINK = re.compile(r'<([^>]+)>; rel="next"')


class Reader(Client):
    _counted = (
        0,
        0.0,
    )  # which start of the service, and its requests, by the last answer of /metrics

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

    def read_metrics(self) -> None:
        start = self.books.counts["services started"]  # before it is asked
        answer = self.ask("metrics", "/metrics")
        if answer.status == 200:
            text = answer.content.decode()
            self._compare_counts(start, text)
            self._compare_fees(text)

    def _compare_counts(self, start: int, text: str) -> None:
        """The service's count of requests never falls, unless the service was started again."""
        counts = re.findall(
            r"^marketplace_request_duration_seconds_count\{.*\} ([0-9.e+]+)$", text, re.MULTILINE
        )
        counted = sum(map(float, counts))
        if start == self._counted[0] and counted < self._counted[1]:
            self.books.find(f"A counter fell, from {self._counted[1]} to {counted}")
        self._counted = start, counted

    def _compare_fees(self, text: str) -> None:
        """What purchases cost, or may cost, is within the budget, if the database can be asked."""
        fees = dict(
            re.findall(r"^marketplace_sale_fee(\w+)_tinybars ([0-9.e+]+)$", text, re.MULTILINE)
        )
        spent = float(fees.get("s_charged", 0)) + float(fees.get("s_reserved", 0))
        if spent > float(fees["_budget"]):
            self.books.find(f"The fees of purchases are {fees}: more than the budget")
