"""What grows with what: a model of the service. Its constants are measured by benchmarks.growth."""

from bisect import bisect_right
from typing import NamedTuple

from marketplace.ledger import mirror
from marketplace.operator.rounds import AT_ONCE, LOOKING_SECONDS

DAY = 86_400
NEVER = float("inf")
REQUESTS_OF_A_LISTING = 4  # one to add it; its row, its history and its transaction for the report
REQUESTS_OF_A_SALE = 1  # its row, which the watcher looks at
COMMITS_OF_A_SALE = 4  # it ends; another one is added, prepared and reported


class Costs(NamedTuple):
    """What one of each costs: seconds of one core, or bytes."""

    request: float  # of the watcher, for an account
    listing: float  # of the watcher, for each listing in the answer
    stamp: float  # of the primary, to tell whether anything was written
    page: float  # of the primary, for a page of the order book
    kept: float  # of the whole service, for an answer that is kept, without its server
    made: float  # of the whole service, for one that is made anew
    request_bytes: float  # of the mirror node's answer
    listing_bytes: float  # of each listing in it
    nft_bytes: float  # in the database
    answer_bytes: float  # to a reader, compressed


class World(NamedTuple):
    """How much there is of everything, and what it is served with."""

    sellers: int = 1_000
    listings: int = 10_000
    sales_a_day: float = 1_000  # and as many new listings
    readers: float = 100  # requests a second of all of them
    addresses: int = 100  # that they ask for, all alike
    rate: float = 40  # MIRROR_NODE_RATE, of each watcher
    watchers: int = 1
    latency: float = 0.1  # seconds until the mirror node has answered
    every: float = 30  # seconds between two rounds
    workers: int = 2  # processes that serve


class Answer(NamedTuple):
    """What follows from it."""

    requests: int  # of a round, to the mirror node, where nothing has changed
    capacity: float  # requests a second, of all watchers
    bound: str  # what keeps the watchers from asking for more
    round: float  # seconds
    age: float  # seconds that a sold NFT can stay in the order book, at worst
    stamps: float  # a second
    pages: float  # a second
    commits: float  # a second
    watching: float  # cores
    serving: float  # cores, without the server's own
    primary: float  # cores
    database: float  # bytes
    read: float  # bytes a day, to readers
    asked: float  # bytes a day, from the mirror node
    requests_a_day: float


def requests_for(listings: int) -> int:
    """About one seller: for each full page one more, as only the next one shows that none follows."""
    return listings // mirror.PAGE + 1


def requests_of_a_round(sellers: int, listings: int) -> int:
    """About all sellers, where all have as many listings, or nearly so."""
    each, more = divmod(listings, sellers)
    return (sellers - more) * requests_for(each) + more * requests_for(each + 1)


def answer(world: World, costs: Costs) -> Answer:
    requests = requests_of_a_round(world.sellers, world.listings)
    work = requests * costs.request + world.listings * costs.listing
    capacity, bound = _capacity(world, work / requests)
    sales = world.sales_a_day / DAY
    owed = sales * (REQUESTS_OF_A_LISTING + REQUESTS_OF_A_SALE)  # requests, each second
    # A round asks about all sellers, and about what was sold since the last one.
    lasts = (requests + owed * world.every) / (capacity - owed) if capacity > owed else NEVER
    between = lasts + world.every
    if sales * between * REQUESTS_OF_A_SALE > LOOKING_SECONDS * capacity:
        lasts = between = NEVER  # each round leaves some of what was sold to the next
    commits = sales * COMMITS_OF_A_SALE + world.watchers / between
    pages = world.readers * missed(world.readers / (world.workers * world.addresses), commits)
    asked_a_second = requests / between + owed if between < NEVER else capacity
    listings_a_second = world.listings / between if between < NEVER else 0
    return Answer(
        requests=requests,
        capacity=capacity,
        bound=bound,
        round=lasts,
        # Sold just after its seller was asked, the first one: that one may be the last of the next round.
        age=lasts + between,
        stamps=world.readers,
        pages=pages,
        commits=commits,
        watching=work / between,
        serving=(world.readers - pages) * costs.kept + pages * costs.made,
        primary=world.readers * costs.stamp + pages * costs.page,
        database=world.listings * costs.nft_bytes,
        read=world.readers * DAY * costs.answer_bytes,
        asked=DAY
        * (asked_a_second * costs.request_bytes + listings_a_second * costs.listing_bytes),
        requests_a_day=asked_a_second * DAY,
    )


def _capacity(world: World, work: float) -> tuple[float, str]:
    """Requests a second of all watchers, and what bounds them; ``work`` is a core's for each request."""
    bounds = {
        "the rate": world.rate,
        f"{AT_ONCE} requests at once": AT_ONCE / (world.latency + work),
        "a core": 1 / work,
    }
    bound = min(bounds, key=bounds.get)
    return bounds[bound] * world.watchers, bound


def missed(asked: float, commits: float) -> float:
    """The part of requests that meet no kept answer: each commit makes the next one for an address do so.

    ``asked`` is how often a second one process is asked for one address; both come at random.
    """
    return commits / (asked + commits) if commits else 0


def most_sellers(world: World, costs: Costs, seconds: float, of: str = "age") -> int:
    """How many sellers, each with as many listings as now, until a round or the age takes so long."""

    def lasts(sellers: int) -> float:
        listings = sellers * world.listings // world.sellers
        return getattr(answer(world._replace(sellers=sellers, listings=listings), costs), of)

    return bisect_right(range(1, 10**8), seconds, key=lasts)


def costs_of(measured: dict) -> Costs:
    """The constants, from the first two rounds that were measured; the others are there to check them."""
    few, many = measured["rounds"][:2]  # as many requests, and more listings in each answer
    reads = measured["reads"][0]

    def split(figure: str) -> tuple[float, float]:
        """For each request, and for each listing."""
        listing = (many[figure] - few[figure]) / (many["listings"] - few["listings"])
        return (few[figure] - listing * few["listings"]) / few["requests"], listing

    request, listing = split("cpu_seconds")
    request_bytes, listing_bytes = split("bytes")
    return Costs(
        request=request,
        listing=listing,
        request_bytes=request_bytes,
        listing_bytes=listing_bytes,
        stamp=reads["stamp_seconds"],
        page=reads["page_seconds"],
        kept=reads["kept_seconds"],
        made=reads["made_seconds"],
        nft_bytes=reads["database_bytes"] / reads["nfts"],
        answer_bytes=reads["answer_bytes"],
    )
