"""What a trade's dialog shows: what is bought, withdrawn or listed, for which prices, and how that ended.

Scripts read these fragments of pages. The prices that the visitor has seen are in the address: no newer price
takes their place.
"""

import re

from flask import abort, current_app, request, url_for

from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import (
    MAX_APPROVED_SERIALS,
    MAX_HBAR,
    MAX_HBAR_TRANSFERS,
    MAX_NFT_TRANSFERS,
)
from marketplace.storefront import calls
from marketplace.storefront.basket import Item, read_items
from marketplace.storefront.pages import Values, rate, read_balance, terms
from marketplace.storefront.shares import Share
from marketplace.storefront.surroundings import surroundings
from marketplace.storefront.words import hbar, join_words, tinybars

GONE = "Someone else bought it, or it was withdrawn. You weren't charged."
SWEEP_PAGES = 5  # of the order book, for who owns the cheapest


def visitor() -> str:
    return request.args.get("account", "")


def read_nfts(ids: list[str]) -> list[Values]:
    """The NFTs with these ids that are stored. An invalid id has none; without an answer, the page fails."""
    answer = calls.get("/nfts", id=ids) if ids else None
    if answer and answer.status not in (200, 422):
        abort(answer.status)
    return [nft for nft in answer.rows if nft] if answer else []


def read_collections(nfts: list[Values]) -> dict[str, Values]:
    answers = {token: calls.get(f"/collection/{token}") for token in {nft["token"] for nft in nfts}}
    return {token: answer.data for token, answer in answers.items() if answer.is_ok}


def named(nfts: list[Values]) -> str:
    """ "Peaks #1 and Tides #7", or "5 NFTs"."""
    return join_words([nft["name"] for nft in nfts]) if len(nfts) <= 3 else f"{len(nfts)} NFTs"


def show_purchase() -> Values:
    """A purchase for the prices that were seen, and what has changed since."""
    buyer = visitor()
    items = read_items()
    stored = {f"{nft['token']}:{nft['serialNo']}": nft for nft in read_nfts([*items])}
    found = [(item, stored[name]) for name, item in items.items() if name in stored]
    # One's own NFTs are left out, unless there is nothing else.
    others = [pair for pair in found if pair[1]["owner"]["accountId"] != buyer]
    is_yours = bool(found) and not others
    pairs = found if is_yours else others
    offers = [nft | {"listingPrice": item.price or nft["listingPrice"]} for item, nft in pairs]
    left = [nft for _, nft in pairs if nft["isForSale"]]
    seen = [] if is_yours else pairs
    changes = [said for item, nft in seen if (said := _change(item, nft, len(pairs) == 1))]
    collections = read_collections(offers)
    shares = terms().divide_purchase(offers, collections, buyer)
    price = sum(nft["listingPrice"] for nft in offers)
    balance = read_balance(buyer)
    rest = None if balance is None else balance - price * TINYBARS
    return {
        "nfts": offers,
        "price": price,
        "shares": shares,
        "changes": changes,
        "is_priced": any("Price changed" in said for said in changes),
        "accepted": [_item(nft) for nft in left],
        "is_yours": is_yours,
        "mixed": _find_mixed(offers),
        "balance": balance,
        "rest": rest,
        "rate": rate(),
        "order": _purchase(buyer, offers),
        "done": url_for(
            "storefront.show_purchased",
            account=buyer,
            nft=[_item(nft) for nft in offers],
            seller=[nft["owner"]["accountId"] for nft in offers],
        ),
        "roles": _roles(offers, collections, buyer),
        "besides": _besides(shares),
    }


def _change(item: Item, nft: Values, is_one: bool) -> str:
    """What has ended or changed an offer; "" if it is as it was seen."""
    of = "" if is_one else f"{nft['name']}: "
    if not nft["isForSale"]:
        return of + GONE
    if item.price in (None, nft["listingPrice"]):
        return ""
    return f"{of}Price changed: {item.price:,} → {hbar(nft['listingPrice'])}"


def _item(nft: Values) -> str:
    return f"{nft['token']}:{nft['serialNo']}:{nft['listingPrice']}"


def _purchase(buyer: str, nfts: list[Values]) -> Values:
    orders = [
        {
            "tokenId": nft["token"],
            "serialNo": nft["serialNo"],
            "expectedPrice": nft["listingPrice"] or None,
        }
        for nft in nfts
    ]
    ordered = orders[0] if len(orders) == 1 else {"nfts": orders}
    return {"accountId": buyer, **ordered}


def _find_mixed(nfts: list[Values]) -> Values | None:
    """A seller with NFTs of two collections, which one transaction can't have, and what is left without."""
    tokens: dict[str, str] = {}
    others = [
        nft
        for nft in nfts
        if tokens.setdefault(nft["owner"]["accountId"], nft["token"]) != nft["token"]
    ]
    if not others:
        return None
    left = [nft for nft in nfts if nft not in others]
    return {
        "seller": others[0]["owner"]["accountId"],
        "others": named(others),
        "left": [_item(nft) for nft in left],
    }


def _roles(nfts: list[Values], collections: dict[str, Values], buyer: str) -> dict[str, str]:
    """The accounts that take part, in words."""
    sellers = {nft["owner"]["accountId"] for nft in nfts}
    roles = {current_app.config["ACCOUNT_ID"]: "the marketplace"}
    roles |= dict.fromkeys(sellers, "the seller" if len(sellers) == 1 else "a seller")
    roles[buyer] = "the buyer"
    for collection in collections.values():
        for name, word in (("royalties", "royalties"), ("fixedFees", "fixed fees")):
            for one in collection[name] or ():
                roles.setdefault(one["accountId"], word)
    return roles


def _besides(shares: list[Share] | None) -> list[tuple[str, str]]:
    """The fees that the network takes from the sellers' payment. The transaction does not name them."""
    if shares is None:
        return [("Royalties", "Not known yet")]
    due = [share for share in shares if share.role in ("Royalty", "Fixed fee")]
    if not due:
        return [("Royalties", "None")]
    rows = [
        (one.role, f"{one.account}: {one.units or tinybars(one.tinybars) + ' of that'}")
        for one in due
    ]
    sellers = [share for share in shares if share.role == "Seller"]
    word = "the seller" if len(sellers) == 1 else "a seller"
    return rows + [
        ("Remains", f"{one.account}, {word}: {tinybars(one.tinybars)}") for one in sellers
    ]


def show_purchased() -> Values:
    """How a purchase ended: what it cost, and what whoever made it got."""
    buyer = visitor()
    items = read_items()
    sellers = dict(zip(items, request.args.getlist("seller"), strict=False))
    nfts = read_nfts([*items])
    paid = []
    for nft in nfts:
        name = f"{nft['token']}:{nft['serialNo']}"
        seller = {"accountId": sellers.get(name)}
        paid.append(nft | {"listingPrice": items[name].price or 0, "owner": seller})
    collections = read_collections(nfts)
    shares = terms().divide_purchase(paid, collections, buyer)
    earned = sum(share.tinybars for share in shares or () if share.role == "Royalty")
    artists = [one["name"] or one["token"] for one in collections.values() if one["royalties"]]
    return {
        "nfts": paid,
        "named": named(nfts),
        "price": sum(nft["listingPrice"] for nft in paid),
        "shares": shares,
        "earned": earned,
        "artists": artists,
        "balance": read_balance(buyer),
        "account": buyer,
    }


def show_withdrawal() -> Values:
    """NFTs of one collection whose listing ends."""
    nfts = [nft for nft in read_nfts([*read_items()]) if nft["isForSale"]]
    serial_nos = [nft["serialNo"] for nft in nfts]
    token = nfts[0]["token"] if nfts else ""
    which = {"serialNo": serial_nos[0]} if len(nfts) == 1 else {"serialNos": serial_nos}
    owner = nfts[0]["owner"]["accountId"] if nfts else visitor()
    return {
        "nfts": nfts,
        "order": {"accountId": owner, "tokenId": token, **which},
        "done": url_for(
            "storefront.show_withdrawn", account=owner, nft=[_item(nft) for nft in nfts]
        ),
        "roles": {owner: "the owner", current_app.config["ACCOUNT_ID"]: "the marketplace"},
    }


def show_withdrawn() -> Values:
    nfts = read_nfts([*read_items()])
    return {"nfts": nfts, "named": named(nfts), "account": visitor()}


def show_listed() -> Values:
    nfts = read_nfts([*read_items()])
    prices = {nft["listingPrice"] for nft in nfts}
    return {"nfts": nfts, "named": named(nfts), "prices": prices, "account": visitor()}


def show_sweep() -> Values:
    """The cheapest of a collection: as many as one likes, none of one's own, of no more sellers than fit."""
    buyer, token = visitor(), request.args.get("collection", "")
    at_most = MAX_HBAR_TRANSFERS - 1 - bool(terms().fee)  # beside the buyer and the marketplace
    sellers: set[str] = set()
    offers: list[Values] = []
    page: str | None = None
    for _ in range(SWEEP_PAGES):
        answer = calls.get("/orderbook", tokenId=token, sort="price", page=page)
        for nft in answer.rows:
            seller = nft["owner"]["accountId"]
            is_room = seller in sellers or len(sellers) < at_most
            if seller != buyer and is_room:
                sellers.add(seller)
                offers.append(nft)
        page = answer.page
        if len(offers) >= MAX_NFT_TRANSFERS or page is None:
            break
    number = min(max(1, request.args.get("number", 5, int)), MAX_NFT_TRANSFERS)
    chosen = offers[:number]
    return {
        "nfts": chosen,
        "most": min(len(offers), MAX_NFT_TRANSFERS),
        "price": sum(nft["listingPrice"] for nft in chosen),
        "items": [_item(nft) for nft in chosen],
    }


NOTHING = {"account": "", "token": "", "serial_no": "", "price": ""}


def show_listing() -> Values:
    """The form of a listing, for the NFTs and the price that the address names."""
    given = request.args.to_dict()
    values = NOTHING | dict(surroundings().suggest()) | given
    account, token = values["account"], values["token"]
    serial_nos = [text.strip() for text in values["serial_no"].split(",")][:MAX_APPROVED_SERIALS]
    nfts = read_nfts([f"{token}:{one}" for one in serial_nos if re.fullmatch("[0-9]{1,19}", one)])
    collection = read_collections(nfts).get(token)
    guide = (nfts and nfts[0]["listingPrice"]) or (collection or {}).get("floorPrice")
    price = given.get("price") or str(guide or values["price"])
    amount = read_price(price)
    other = next((nft for nft in nfts if nft["owner"]["accountId"] != account), None)
    # A field for each, or all in one.
    prices = ",".join(request.args.getlist("prices")).split(",")
    own = dict(zip(serial_nos, prices, strict=False))
    amounts = [read_price(own.get(one) or price) or 0 for one in serial_nos]
    is_known = bool(amount and collection and collection["royalties"] is not None)
    divided = [terms().divide(one, collection or {}, account) for one in amounts if is_known]
    return {
        "values": values | {"price": price},
        "serial_nos": serial_nos,
        "own_prices": own,
        "nfts": nfts,
        "collection": collection,
        "other": other,
        "is_change": bool(nfts) and all(nft["isForSale"] for nft in nfts),
        "is_chosen": "serial_no" in given and "owned" not in given,
        "wrong": "" if amount or not given.get("price") else wrong_price(price),
        "amount": amount,
        "shares": divided[0] if divided else [],
        "is_same": len(set(amounts)) == 1,
        "total": sum(shares[1].tinybars for shares in divided),
        "rate": rate(),
        # Whose is not known before a script says so.
        "owned": _list_owned(account) if "owned" in given else None,
    }


def _list_owned(account: str) -> list[Values]:
    answer = calls.get(f"/user/{account}/nfts", limit=24)
    return sorted(answer.rows, key=lambda nft: bool(nft["isForSale"]))


def read_price(text: str) -> int | None:
    """A price as people type it, "1,000" or "1 000"; None if it is none that the service takes."""
    plain = re.sub(r"[, ](?=[0-9]{3}(?![0-9]))", "", text.strip())
    amount = int(plain) if re.fullmatch("[0-9]{1,11}", plain) else 0
    return amount if 0 < amount <= MAX_HBAR else None


def wrong_price(text: str) -> str:
    return f"The price must be a whole number from 1 to {MAX_HBAR:,}, not “{text}”"
