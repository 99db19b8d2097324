"""The values of each page's template: the API's answers."""

from dataclasses import replace
from typing import Any

from flask import current_app, request

from marketplace.api.nfts import is_gone
from marketplace.api.users import is_blocked
from marketplace.events import EventKind
from marketplace.hedera.ids import MAX_INT64, MAX_NFT_TRANSFERS, is_entity_id
from marketplace.storefront import calls
from marketplace.storefront.basket import read_items
from marketplace.storefront.calls import ApiAnswer
from marketplace.storefront.chart import chart_collection, chart_nft
from marketplace.storefront.shares import Share, Terms
from marketplace.storefront.surroundings import surroundings
from marketplace.storefront.words import traits

Values = dict[str, Any]

# The kinds of events for each word in the address. Without one: what people did, not what was read.
STUCK = EventKind.OFFER_NOT_EXECUTED
KINDS: dict[str, list[str]] = {
    "sales": ["SOLD"],
    "listings": ["LISTED", "PRICE_CHANGED", "WITHDRAWN"],
    "moves": ["TRANSFERRED", "BURNED"],
    "offers": [kind for kind in EventKind if kind.startswith("OFFER")],
}
OK, GONE, BLOCKED = 200, 410, 451  # of a page: its NFT is burned, or its account blocked
EVENTS = 30
NAMES = 100  # of collections, to choose from
TRENDING = 6
SALES, EVENTS_READ = 8, 100  # on the front page; of which some may not be shown
ROWS = 40  # of a list
HOLDINGS = 20  # collections of an account, to choose from
UNENDED = ("OPEN", "CLOSED")
OFFERS = 100  # of an NFT, or of one side, highest first
DAYS = 90  # of a collection's chart


def asked(*names: str) -> Values:
    """These parameters of the page's address, without those that are empty."""
    given = {name: request.args.get(name, "").strip() for name in names}
    return {name: value for name, value in given.items() if value}


def show_gallery() -> Values:
    """The front page: collections that are traded, what was sold last, and the order book."""
    collections = calls.get_chosen("/collections", limit=NAMES)
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
    limit = EVENTS_READ if current_app.config["STOREFRONT_COLLECTIONS"] else SALES
    sold = calls.get_chosen("/events", kind="SOLD", limit=limit)
    sales = sold.rows[-SALES:]
    records = read_records(sales)
    return values | {
        "trending": traded,
        "sales": [event | {"nft": records.get(key_of(event))} for event in reversed(sales)],
    }


def read_listings(**query: Any) -> ApiAnswer:
    """Read a page of the order book, which is as long as two of the API's."""
    first = calls.get_chosen("/orderbook", **query)
    if not first.page:
        return first
    second = calls.get_chosen("/orderbook", **query | {"page": first.page})
    if not second.is_ok:
        return first
    return replace(first, data=first.data + second.data, next=second.next)


def names_of(collections: list[Any]) -> dict[str, str]:
    return {one["token"]: one["name"] or one["token"] for one in collections}


def find_token(text: str, collections: list[Values]) -> str:
    """The token of the collection with this name; anything else stays as it is."""
    tokens = [one["token"] for one in collections if (one["name"] or "").lower() == text.lower()]
    return tokens[0] if tokens and not is_entity_id(text) else text


def named_by_the_api(wanted: Values) -> Values:
    names = {"collection": "tokenId", "account": "accountId"}
    return {names.get(name, name): value for name, value in wanted.items()}


def show_collections() -> Values:
    """All collections, ranked."""
    wanted = asked("sort", "q")
    book = calls.get_chosen("/collections", **wanted, limit=ROWS, page=request.args.get("page"))
    return {"book": book, "wanted": wanted}


def show_owners(token: str) -> Values:
    """The owners of a collection's NFTs."""
    page = request.args.get("page")
    book = calls.get(f"/collection/{token}/owners", limit=ROWS, page=page)
    return read_head(token) | {"book": book}


def show_search() -> Values:
    wanted = asked("q")
    return {"wanted": wanted, "found": calls.get_chosen("/search", **wanted) if wanted else None}


def show_collection(token: str) -> Values:
    head = read_head(token)
    wanted = asked("minPrice", "maxPrice", "sort")
    chosen = request.args.getlist("trait")
    book = read_listings(tokenId=token, **wanted, trait=chosen, page=request.args.get("page"))
    is_known = head["record"].is_ok
    filters = {name: price for name, price in wanted.items() if name != "sort"}
    is_filtered = bool(chosen or filters)
    listed = head["record"].data["listed"] if is_known else None
    return head | {
        "book": book,
        "wanted": wanted | ({"trait": chosen} if chosen else {}),
        "traits": read_traits(token, filters, chosen) if is_known else [],
        "total": None if is_filtered else listed,
        "ranks": find_ranks(token, book.rows),
    }


def find_ranks(token: str, nfts: list[Values]) -> dict[int, int | None]:
    """The ranks of a collection's NFTs, by serial number."""
    serial_nos = [nft["serialNo"] for nft in nfts]
    answer = calls.get(f"/collection/{token}/ranks", serialNo=serial_nos) if nfts else None
    return {each["serialNo"]: each["rank"] for each in answer.rows} if answer else {}


def read_head(token: str) -> Values:
    """The head of a collection's pages."""
    record = calls.get(f"/collection/{token}")
    values = {"token": token, "record": record, "rate": rate()}
    if not record.is_ok:
        return values
    collection = record.data
    return values | {
        "page_status": OK if collection["owners"] else GONE,
        "image": collection["logoUrl"] or find_image(token),
        "shares": divide(collection),
    }


def divide(collection: Values, nft: Values | None = None) -> list[Share] | None:
    """The shares of an NFT's price, the floor price or 100 HBAR; None if royalties are not known."""
    if collection.get("royalties") is None:
        return None
    price = nft["listingPrice"] if nft and nft["isForSale"] else None
    seller = nft["owner"]["accountId"] if nft else None
    return terms().divide(price or collection["floorPrice"] or 100, collection, seller)


def terms() -> Terms:
    return Terms(current_app.config["ACCOUNT_ID"], current_app.config["SALE_FEE_BASIS_POINTS"])


def read_traits(token: str, filters: Values, chosen: list[str]) -> list[Values]:
    """The values of each trait that lead to something: those most often for sale first.

    ``left`` counts the NFTs for sale that all filters but those of this trait leave.
    """
    path = f"/collection/{token}/traits"
    known = calls.get(path).rows
    filtered = calls.get(path, **filters, trait=chosen) if filters or chosen else None
    left = {
        (trait["trait_type"], value["value"]): value["listed"]
        for trait in (filtered.rows if filtered else known)
        for value in trait["values"]
    }
    groups = []
    for trait in known:
        kind = trait["trait_type"]
        values = [
            value
            | {
                "term": term,
                "is_chosen": term in chosen,
                "left": left.get((kind, value["value"]), 0),
            }
            for value in trait["values"]
            if (term := f"{kind}:{value['value']}") in chosen or value["listed"]
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
    """What an account owns. Sorted by price, only what is for sale is shown."""
    summary = calls.get_chosen(f"/user/{account}/summary")
    about = summary.data if summary.is_ok else {}
    holdings = [one for one in about.get("collections", ()) if one["nfts"]]
    wanted = asked("collection", "show", "sort")
    token = wanted.get("collection")
    is_listed = wanted.get("show") == "listed" or "sort" in wanted
    book = calls.get_chosen(
        f"/user/{account}/{'listed' if is_listed else 'nfts'}",
        tokenId=token,
        sort=wanted.get("sort"),
        limit=ROWS,
        page=request.args.get("page"),
    )
    counted = [one for one in holdings if one["token"] == token] if token else [about]
    return {
        "account": account,
        "page_status": BLOCKED if summary.is_ok and is_blocked(account) else OK,
        "book": book,
        "about": about,
        "wanted": wanted,
        "total": sum(one.get("listed" if is_listed else "nfts", 0) for one in counted),
        "named": names_of(holdings),
        "holdings": holdings[:HOLDINGS],
        "further": holdings[HOLDINGS:],
        "balance": read_balance(account) if summary.is_ok else None,
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
    """An account's balance in the sandbox; None on a real network, and if it is not known."""
    if not surroundings().sandbox:
        return None
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
        "page_status": GONE if is_gone(token, record.data["serialNo"]) else OK,
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
    known = [one for some in KINDS.values() for one in some]
    kinds = KINDS.get(kind, [kind]) if kind else known
    position = request.args.get("before")
    order = {"order": "desc", "after": position} if position else {}
    selected = named_by_the_api({name: wanted[name] for name in wanted if name != "kind"})
    answer = calls.get("/events", **selected, kind=kinds, limit=EVENTS, **order)
    newest_first = answer.rows if position else answer.rows[::-1]
    events = calls.choose(newest_first)
    records = read_records(events)
    token = wanted.get("collection")
    head = read_head(token) if token else {}
    return head | {
        "wanted": wanted,
        "answer": answer,
        "events": [event | {"nft": records.get(key_of(event))} for event in events],
        "oldest": newest_first[-1]["id"] if len(newest_first) == EVENTS else None,
        "cursor": answer.next,
        **(read_past(token, head["record"]) if token else {}),
    }


def read_past(token: str, record: ApiAnswer) -> Values:
    """The chart of a collection, and what its royalties earned."""
    if not record.is_ok:
        return {}
    days = calls.get(f"/collection/{token}/history", days=DAYS).rows
    royalties = calls.get(f"/collection/{token}/royalties").rows
    return {
        "chart": chart_collection(days, record.data),
        "earned": sum(int(one["earned"]) for one in royalties),
    }


def show_basket() -> Values:
    """The NFTs that the address names, each with what has changed since its price was seen."""
    texts = request.args.getlist("nft")
    items = read_items(MAX_NFT_TRANSFERS)
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


def read_records(events: list[Values]) -> dict[tuple[str, int], Values]:
    """The NFTs of events."""
    ids = {f"{event['token']}:{event['serialNo']}" for event in events}
    return {key_of(nft): nft for nft in read_nfts(sorted(ids))}


def read_nfts(ids: list[str]) -> list[Values]:
    """The NFTs with these ids that are stored."""
    answer = calls.get("/nfts", id=ids) if ids else None
    return [nft for nft in answer.data if nft] if answer and answer.is_ok else []


def rate() -> Values | None:
    """The ledger's exchange rate, if it is known."""
    answer = calls.get("/network")
    return answer.data["exchangeRate"] if answer.is_ok else None
