"""An exact copy of the order book: read once, then kept up to date by events.

    session = requests.Session()
    session.headers["Authorization"] = "Bearer nftm_..."
    book = OrderBook("http://127.0.0.1:8000", session)

If the service is mounted under a prefix, ``market`` is its origin and the first address has the prefix; links
include it already.
"""


class OrderBook:
    """A copy of the order book: price, owner and date of each listing."""

    def __init__(self, market, session):
        self.market, self.session = market, session
        self.read()

    def read(self):
        """Read all pages. The first one's cursor counts: it is the oldest."""
        self.listings, cursor, page = {}, None, {"url": "/v1/orderbook"}
        while page:
            r = self.session.get(self.market + page["url"], timeout=30)
            r.raise_for_status()
            cursor, page = cursor or r.headers["X-Events-Cursor"], r.links.get("next")
            for nft in r.json():
                listing = nft["listingPrice"], nft["owner"]["accountId"], nft["lastListedDate"]
                self.listings[nft["token"], nft["serialNo"]] = listing
        self.next = f"/v1/events?limit=1000&after={cursor}"

    def follow(self):
        """Apply what has happened since. To be called every few seconds."""
        while (r := self.session.get(self.market + self.next, timeout=30)).status_code != 410:
            r.raise_for_status()
            self.next = r.links["next"]["url"]
            for event in r.json():
                nft = event["token"], event["serialNo"]
                if event["kind"] in ("LISTED", "PRICE_CHANGED", "SHOWN") and event["price"]:
                    seller = event["from"] or event["to"]
                    self.listings[nft] = event["price"], seller["accountId"], event["date"]
                elif event["kind"] in ("WITHDRAWN", "SOLD", "TRANSFERRED", "BURNED", "HIDDEN"):
                    self.listings.pop(nft, None)
            if not r.json():
                return
        self.read()
