"""The values of each page's template: the API's answers, and figures that the API does not have."""

from dataclasses import replace
from functools import cache
from typing import Any

from flask import current_app, request

from marketplace.demo import calls, figures
from marketplace.demo.basket import read_items
from marketplace.demo.calls import ApiAnswer
from marketplace.demo.figures import Owned
from marketplace.demo.past import SALES_AT_MOST, chart_nft, read_earned, read_past
from marketplace.demo.shares import Share, Terms
from marketplace.demo.words import traits
from marketplace.hedera import times
from marketplace.hedera.ids import MAX_HBAR, MAX_INT64, is_entity_id
from marketplace.market.rarity import rank_collection
from marketplace.store.database import read
from marketplace.store.orderbook import Selection, list_listed_values

Values = dict[str, Any]

# The kinds of events for each word in the address. Without one: what people did, not what was read.
STUCK = "OFFER_NOT_EXECUTED"
KINDS = {
    "sales": ["SOLD"],
    "listings": ["LISTED", "PRICE_CHANGED", "WITHDRAWN"],
    "moves": ["TRANSFERRED", "BURNED"],
    "offers": ["OFFERED", "OFFER_WITHDRAWN", "OFFER_EXPIRED", "OFFER_FAILED", STUCK],
}
EVENTS = 30
NAMES = 100  # of collections, to choose from
TRENDING = 6
SHOWN = 40
# The orders of collections that the API does not have, and the figure that each is by.
RANKED = {"floor": "floorPrice", "week": "volume_7d", "owners": "owners"}
HOLDINGS = 20  # collections of an account, to choose from
BASKET = 10  # NFTs, as the API takes them
UNENDED = ("OPEN", "CLOSED")
OFFERS = 100  # of an NFT, or of one side, highest first


def asked(*names: str) -> Values:
    """These parameters of the page's address, without those that are empty."""
    given = {name: request.args.get(name, "").strip() for name in names}
    return {name: value for name, value in given.items() if value}


def show_gallery() -> Values:
    """The front page: collections that are traded, what was sold last, and the order book."""
    collections = calls.get("/collections", limit=NAMES)
    named = collections.rows
    wanted = asked("collection", "minPrice", "maxPrice", "sort")
    if "collection" in wanted:
        wanted["collection"] = find_token(wanted["collection"], named)
    page = request.args.get("page")
    book = read_listings(**named_by_the_api(wanted), page=page)
    is_filtered = wanted.keys() - {"sort"}
    total = None if is_filtered or collections.next else sum(one["listed"] for one in named)
    values = {
        "book": book,
        "wanted": wanted,
        "collections": named,
        "named": names_of(named),
        "total": total,
        "is_cut": bool(collections.next),
    }
    if is_filtered or page:
        return values
    traded = [one for one in named if one["listed"]][:TRENDING]
    sold = calls.get("/events", kind="SOLD", limit=8)
    records = read_records(sold)
    return values | {
        "trending": [one | {"before": floor_a_day_ago(one["token"])} for one in traded],
        "sales": [event | {"nft": records.get(key_of(event))} for event in reversed(sold.rows)],
    }


def read_listings(**query: Any) -> ApiAnswer:
    """Read a page of the order book, which is as long as two of the API's."""
    first = calls.get("/orderbook", **query)
    if not first.page:
        return first
    second = calls.get("/orderbook", **query | {"page": first.page})
    if not second.is_ok:
        return first
    return replace(first, data=first.data + second.data, next=second.next)


def names_of(collections: list[Any]) -> dict[str, str]:
    return {one["token"]: one["name"] or one["token"] for one in collections}


def floor_a_day_ago(token: str) -> int | None:
    past = read_past(token)
    return past.floor_a_day_ago if past else None


def find_token(text: str, collections: list[Values]) -> str:
    """The token of the collection with this name; anything else stays as it is."""
    tokens = [one["token"] for one in collections if (one["name"] or "").lower() == text.lower()]
    return tokens[0] if tokens and not is_entity_id(text) else text


def named_by_the_api(wanted: Values) -> Values:
    names = {"collection": "tokenId", "account": "accountId"}
    return {names.get(name, name): value for name, value in wanted.items()}


def show_collections() -> Values:
    """All collections, ranked. By some figures, those with the highest volume of 24 hours are ranked."""
    wanted = asked("sort", "q")
    figure = RANKED.get(wanted.get("sort", ""))
    asked_for = {"q": wanted.get("q"), "limit": NAMES} if figure else wanted | {"limit": SHOWN}
    book = calls.get("/collections", **asked_for, page=request.args.get("page"))
    since = times.to_iso(times.now() - 7 * times.DAY)
    tokens = [one["token"] for one in book.rows]
    found = {row["token"]: row for row in figures.list_collection_figures(read(), tokens, since)}
    rows = [one | dict(found.get(one["token"], {})) for one in book.rows]
    if figure:
        rows.sort(key=lambda one: one.get(figure) or 0, reverse=True)
    following = None if figure else book.page
    is_cut = bool(figure and book.page)
    return {"book": book, "rows": rows, "wanted": wanted, "following": following, "is_cut": is_cut}


def show_owners(token: str) -> Values:
    """The owners of a collection's NFTs."""
    page = request.args.get("page")
    book = calls.get(f"/collection/{token}/owners", limit=SHOWN, page=page)
    return read_head(token) | {"book": book}


def show_wallet() -> Values:
    """The check of a wallet; scripts have its rows."""
    return {}


def show_search() -> Values:
    wanted = asked("q")
    return {"wanted": wanted, "found": calls.get("/search", **wanted) if wanted else None}


def show_collection(token: str) -> Values:
    head = read_head(token)
    wanted = asked("minPrice", "maxPrice", "sort")
    chosen = request.args.getlist("trait")
    book = read_listings(tokenId=token, **wanted, trait=chosen, page=request.args.get("page"))
    is_known = head["record"].is_ok
    traits_known = calls.get(f"/collection/{token}/traits") if is_known else None
    is_filtered = chosen or wanted.keys() - {"sort"}
    listed = head["record"].data["listed"] if is_known else None
    counts = count_chosen(token, wanted, chosen) if is_filtered and book.is_ok else None
    return head | {
        "book": book,
        "wanted": wanted | ({"trait": chosen} if chosen else {}),
        "traits": offered(traits_known.rows, chosen, counts) if traits_known else [],
        "total": None if is_filtered else listed,
        "ranks": find_ranks(token, book.rows),
    }


def find_ranks(token: str, nfts: list[Values]) -> dict[int, int | None]:
    """The ranks of a collection's NFTs, by serial number."""
    ranking = rank_collection(token) if nfts else None
    return {nft["serialNo"]: ranking.find_rank(nft["serialNo"]) for nft in nfts} if ranking else {}


def read_head(token: str) -> Values:
    """The head of a collection's pages."""
    record = calls.get(f"/collection/{token}")
    values = {"token": token, "record": record, "rate": rate()}
    if not record.is_ok:
        return values
    collection = record.data
    fee = current_app.config["SALE_FEE_BASIS_POINTS"]
    return values | {
        "image": collection["logoUrl"] or find_image(token),
        "earned": read_earned(collection, fee) if collection["sales"] else None,
        "shares": divide(collection),
    }


def divide(collection: Values, nft: Values | None = None) -> list[Share] | None:
    """The shares of an NFT's price, the floor price or 100 HBAR; None if royalties are not known."""
    if collection.get("royalties") is None:
        return None
    settings = current_app.config
    terms = Terms(settings["ACCOUNT_ID"], settings["SALE_FEE_BASIS_POINTS"])
    price = nft["listingPrice"] if nft and nft["isForSale"] else None
    seller = nft["owner"]["accountId"] if nft else None
    return terms.divide(price or collection["floorPrice"] or 100, collection, seller)


class Counts:
    """How many NFTs for sale have each value of a trait, of those that all other filters leave."""

    def __init__(self, token: str, low: int, high: int, chosen: list[str]) -> None:
        self._selection = Selection(token=token, min_price=low, max_price=high)
        self._chosen = chosen
        self._count = cache(self._read)

    def find(self, kind: str, term: str) -> int:
        others = tuple(one for one in self._chosen if not one.startswith(f"{kind}:"))
        return self._count(others).get(term, 0)

    def _read(self, terms: tuple[str, ...]) -> dict[str, int]:
        rows = list_listed_values(read(), self._selection._replace(traits=terms))
        return {f"{row['type']}:{row['value']}": row["listed"] for row in rows}


def count_chosen(token: str, wanted: Values, chosen: list[str]) -> Counts:
    low, high = int(wanted.get("minPrice", 0)), int(wanted.get("maxPrice", MAX_HBAR))
    return Counts(token, low, high, chosen)


def offered(known: list[Values], chosen: list[str], counts: Counts | None) -> list[Values]:
    """The values of each trait that lead to something: those most often for sale first."""
    groups = []
    for trait in known:
        kind = trait["trait_type"]
        terms = [(value, f"{kind}:{value['value']}") for value in trait["values"]]
        values = [
            value
            | {"term": term, "is_chosen": term in chosen}
            | {"left": counts.find(kind, term) if counts else value["listed"]}
            for value, term in terms
            if value["listed"] or term in chosen
        ]
        values.sort(key=lambda value: (-value["listed"], value["value"]))
        if values:
            groups.append({"kind": kind, "values": values})
    return groups


def find_image(token: str) -> str | None:
    found = calls.get("/collections", q=token, limit=1)
    images = [one["imageUrl"] for one in found.rows if one["token"] == token]
    return images[0] if images else None


def show_account(account: str) -> Values:
    """What an account owns: counted, valued and sorted by the database."""
    first = calls.get(f"/user/{account}/nfts", limit=1)
    owner = first.rows[0]["owner"]["accountId"] if first.rows else None
    held = figures.list_holdings(read(), owner) if owner else []
    holdings = sorted(held, key=lambda one: -one["owned"])
    wanted = asked("collection", "show", "sort")
    token, is_listed = wanted.get("collection"), wanted.get("show") == "listed"
    chosen = [one for one in holdings if token in (None, one["token"])]
    total = sum(one["listed"] if is_listed else one["owned"] for one in chosen)
    begin = min(max(0, request.args.get("offset", 0, int)), total)
    shown = Owned(owner or "", token, is_listed, wanted.get("sort", ""))
    ids = figures.list_ids_of_owner(read(), shown, SHOWN, begin) if owner and chosen else []
    return {
        "account": account,
        "book": first,
        "nfts": read_nfts([f"{token}:{serial_no}" for token, serial_no in ids]),
        "following": begin + SHOWN if begin + SHOWN < total else None,
        "wanted": wanted,
        "total": total,
        "owned": sum(one["owned"] for one in holdings),
        "listed": sum(one["listed"] for one in holdings),
        "sold": figures.get_trades(read(), "from_account", owner or account, SALES_AT_MOST),
        "bought": figures.get_trades(read(), "to_account", owner or account, SALES_AT_MOST),
        "value": sum(one["owned"] * (one["floor_price"] or 0) for one in holdings),
        "named": names_of(holdings),
        "holdings": holdings[:HOLDINGS],
        "further": holdings[HOLDINGS:],
        "balance": read_balance(account) if first.is_ok else None,
        "rate": rate(),
    }


def show_offers(account: str) -> Values:
    """The offers that an account made, and the open ones for its NFTs: the highest first."""
    made, received = (
        calls.get(f"/user/{account}/offers", side=side, limit=OFFERS)
        for side in ("made", "received")
    )
    ids = [f"{one['token']}:{one['serialNo']}" for one in made.rows + received.rows]
    events = calls.get("/events", accountId=account, kind=STUCK, order="desc", limit=OFFERS)
    return {
        "account": account,
        "book": made,
        "made": [one for one in made.rows if one["state"] in UNENDED],
        "ended": [one for one in made.rows if one["state"] not in UNENDED],
        "received": received.rows,
        "stuck": [one for one in read_stuck(events.rows) if one["from"]["accountId"] == account],
        "is_cut": bool(received.next),
        "nfts": {key_of(nft): nft for nft in read_nfts([*dict.fromkeys(ids)][:NAMES])},
        "balance": read_balance(account) if made.is_ok else None,
    }


def read_balance(account: str) -> int | None:
    answer = calls.get_from_sandbox(f"/api/v1/accounts/{account}", transactions="false")
    return answer.data["balance"]["balance"] if answer.status == 200 else None


def show_nft(token: str, serial_no: str) -> Values:
    record = calls.get(f"/nft/{token}/{serial_no}")
    values: Values = {"token": token, "serial_no": serial_no, "record": record, "rate": rate()}
    if record.status not in (200, 404):
        return values
    collection = calls.get(f"/collection/{token}")
    values |= {"collection": collection.data if collection.is_ok else {}}
    if not record.is_ok:
        return values
    events = calls.get(f"/nft/{token}/{serial_no}/events", limit=EVENTS)
    more = calls.get("/orderbook", tokenId=token, limit=13)
    others = [nft for nft in more.rows if key_of(nft) != key_of(record.data)]
    return values | {
        "rarity": calls.get(f"/nft/{token}/{serial_no}/traits"),
        "offers": read_offers(token, serial_no),
        "stuck": read_stuck(events.rows),
        "attributes": traits(record.data["stringifiedAttributes"]),
        "events": merge_updates(events.rows[::-1]),
        "sold": find_last_sale(events.rows),
        "chart": chart_nft(events.rows),
        "cursor": events.next,
        "others": others[:10],
        "ranks": find_ranks(token, others),
        "shares": divide(values["collection"], record.data),
        **neighbours(token, record.data["serialNo"]),
    }


def read_offers(token: str, serial_no: str | int) -> list[Values]:
    """The open offers for an NFT, the highest first."""
    path = f"/nft/{token}/{serial_no}/offers"
    return calls.get(path, limit=OFFERS).rows


def read_stuck(events: list[Values]) -> list[Values]:
    """The offers that were accepted without a sale, and have not ended since."""
    ids = dict.fromkeys(event["offerId"] for event in events if event["kind"] == STUCK)
    answers = [calls.get(f"/offers/{id}") for id in ids]
    found = [answer.data for answer in answers if answer.is_ok]
    return [offer for offer in found if offer["acceptedAt"] and offer["state"] in UNENDED]


def find_last_sale(events: list[Values]) -> Values | None:
    """The sale that brought an NFT to its owner; None if it came otherwise. ``events``: oldest first."""
    moves = [event for event in events if event["kind"] in ("SOLD", "TRANSFERRED")]
    return moves[-1] if moves and moves[-1]["kind"] == "SOLD" else None


def merge_updates(events: list[Values]) -> list[Values]:
    """Of changed metadata that follow one another, newest first, only the newest."""
    return [
        event
        for event, newer in zip(events, [None, *events], strict=False)
        if not (newer and event["kind"] == newer["kind"] == "METADATA_CHANGED")
    ]


def neighbours(token: str, serial_no: int) -> Values:
    """The serial numbers before and after it, if they are stored."""
    ids = [
        f"{token}:{serial}" for serial in (serial_no - 1, serial_no + 1) if 0 < serial <= MAX_INT64
    ]
    stored = {nft["serialNo"] for nft in read_nfts(ids)}
    return {
        "previous": serial_no - 1 if serial_no - 1 in stored else None,
        "following": serial_no + 1 if serial_no + 1 in stored else None,
    }


def show_activity() -> Values:
    wanted = asked("collection", "account", "kind")
    kind = wanted.get("kind")
    shown = [one for some in KINDS.values() for one in some]
    kinds = KINDS.get(kind, [kind]) if kind else shown
    position = request.args.get("before")
    order = {"order": "desc", "after": position} if position else {}
    selected = named_by_the_api({name: wanted[name] for name in wanted if name != "kind"})
    answer = calls.get("/events", **selected, kind=kinds, limit=EVENTS, **order)
    events = answer.rows
    if not position:
        events = events[::-1]
    records = read_records(answer)
    token = wanted.get("collection")
    head = read_head(token) if token else {}
    past = read_past(token) if token else None
    return head | {
        "wanted": wanted,
        "answer": answer,
        "events": [event | {"nft": records.get(key_of(event))} for event in events],
        "oldest": events[-1]["id"] if len(events) == EVENTS else None,
        "cursor": answer.next,
        "chart": past.chart() if past else None,
    }


def show_basket() -> Values:
    """The NFTs that the address names, each with what has changed since its price was seen."""
    texts = request.args.getlist("nft")
    items = read_items(BASKET)
    stored = {f"{nft['token']}:{nft['serialNo']}": nft for nft in read_nfts([*items])}
    lines: list[Values] = [
        {"nft": stored[name], "seen": item.price} for name, item in items.items() if name in stored
    ]
    sold = [line["nft"] for line in lines if line["nft"]["isForSale"]]
    tokens = sorted({line["nft"]["token"] for line in lines})
    answers = {token: calls.get(f"/collection/{token}") for token in tokens}
    return {
        "lines": lines,
        "named": names_of([one.data for one in answers.values() if one.is_ok]),
        "missing": len(texts) - len(lines),
        "number": len(sold),
        "sum": sum(nft["listingPrice"] for nft in sold),
        "rate": rate(),
        "cursor": calls.get("/events", limit=1).next,
    }


def key_of(nft: Values) -> tuple[str, int]:
    return nft["token"], nft["serialNo"]


def read_records(events: ApiAnswer) -> dict[tuple[str, int], Values]:
    """The NFTs of events."""
    ids = (
        {f"{event['token']}:{event['serialNo']}" for event in events.data}
        if events.is_ok
        else set()
    )
    return {key_of(nft): nft for nft in read_nfts(sorted(ids))}


def read_nfts(ids: list[str]) -> list[Values]:
    """The NFTs with these ids that are stored."""
    answer = calls.get("/nfts", id=ids) if ids else None
    return [nft for nft in answer.data if nft] if answer and answer.is_ok else []


def rate() -> Values | None:
    """The ledger's exchange rate, if it is known."""
    answer = calls.get("/network")
    return answer.data["exchangeRate"] if answer.is_ok else None
