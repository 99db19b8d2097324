"""What must be true of offers after all faults: each list is the ledger's, each sale is reported once."""

from collections import Counter

from harness.engines import connect
from stress.soak.books import ACCOUNTS
from stress.soak.schedules import Scheduled
from stress.soak.stage import SHARE


def compare(ending) -> None:
    """``ending``: of ending.py, whose books get what is wrong."""
    made = ending.ledger.offers()
    for state, count in Counter(each.state for each in made).items():
        ending.books.counts[f"offers at the end: {state}"] = count
    _compare_with_bidders(ending, made)
    _compare_with_lists(ending, made)
    _compare_with_database(ending, made)


def _compare_with_bidders(ending, made: list[Scheduled]) -> None:
    """Each request has made one schedule at most, and what was signed took effect."""
    created = Counter((each.nft, each.bidder, each.price) for each in made)
    if surplus := created - ending.books.bids_asked:
        ending.books.find(f"Schedules that nobody has asked for: {surplus}")
    if wrong := [each for each in made if each.share > SHARE]:
        ending.books.find(f"Schedules with too large a share of the marketplace: {wrong[:5]}")
    bids = [bid for nft in ending.books.added.values() for bid in nft.bids.values()]
    known = {bid.offer_id: bid.end for bid in bids}
    found = {each.offer_id: each.end for each in made if each.offer_id in known}
    ending.differ("The ledger's offers and their bidders", found, known)


def _compare_with_lists(ending, made: list[Scheduled]) -> None:
    owners = ending.ledger.owners()
    open_ones = [each for each in made if each.is_open and owners[each.nft] == each.seller]
    ending.books.counts["offers shown at the end"] = len(open_ones)
    tokens = sorted({nft.token for nft in ending.books.added.values()})
    lists = [(f"collection/{token}/offers?limit=7", "token", token) for token in tokens]
    for account_id in ACCOUNTS:
        lists.append((f"user/{account_id}/offers?side=made&limit=7", "bidder", account_id))
        lists.append((f"user/{account_id}/offers?side=received&limit=7", "seller", account_id))
    for path, side, name in lists:
        rows = list(ending.rows(f"/v1/{path}"))
        shown = {row["offerId"]: _read(row) for row in rows}
        listed = made if side == "bidder" else open_ones
        expected = {each.offer_id: _name(each) for each in listed if getattr(each, side) == name}
        ending.differ(f"The list {path}", shown, expected)
        prices = [row["price"] for row in rows]
        if len(rows) != len(shown) or prices != sorted(prices, reverse=True):
            ending.books.find(f"The list {path} is out of order, or shows an offer twice: {rows}")


def _compare_with_database(ending, made: list[Scheduled]) -> None:
    with connect(ending.stage.database.url) as db:
        rows = db.execute("SELECT schedule_id, state FROM offer").fetchall()
        stored = dict(map(tuple, rows))
        sql = """
            SELECT offer_id, token, serial_no, price FROM event
            WHERE offer_id IS NOT NULL AND kind = 'SOLD'
        """
        reported = Counter(tuple(row) for row in db.execute(sql))
    ending.differ("The table of offers", stored, {each.offer_id: each.state for each in made})
    sold = Counter(
        (each.offer_id, *each.nft, each.price) for each in made if each.end == "executed"
    )
    ending.differ("The sales by offers", reported, sold)


def _read(row: dict) -> tuple:
    parties = row["from"]["accountId"], row["to"]["accountId"]
    return row["token"], row["serialNo"], *parties, row["price"]


def _name(offer: Scheduled) -> tuple:
    return *offer.nft, offer.seller, offer.bidder, offer.price
