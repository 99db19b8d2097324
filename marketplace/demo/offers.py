"""What the dialogs of offers show: to make one, to accept one and to withdraw one, and how that ended."""

from typing import Any

from flask import abort, current_app, request, url_for

from marketplace.demo.basket import read_items
from marketplace.demo.pages import Values, has_offers, key_of, rate, read_balance, read_offers
from marketplace.demo.trades import named, read_collections, read_nfts, terms, visitor

DAYS = 7  # until an offer expires, unless its bidder chooses otherwise


def _read_nfts() -> list[Values]:
    if not has_offers():
        abort(404)
    return read_nfts([*read_items()])


def _address(name: str, nfts: list[Values], **values: Any) -> str:
    """The fragment that says how it ended well."""
    items = [f"{nft['token']}:{nft['serialNo']}" for nft in nfts]
    return url_for(f"demo.show_{name}", account=visitor(), nft=items, **values)


def _roles(seller: str, bidder: str) -> dict[str, str]:
    market = current_app.config["ACCOUNT_ID"]
    return {market: "the marketplace", seller: "the owner", bidder: "the bidder"}


def show_offer() -> Values:
    """The form of an offer, with what was typed."""
    nfts, bidder = _read_nfts(), visitor()
    nft = nfts[0] if nfts else None
    owner = nft["owner"]["accountId"] if nft else ""
    about = {"tokenId": nft["token"], "serialNo": nft["serialNo"]} if nft else {}
    return {
        "nft": nft,
        "price": request.args.get("price", ""),
        "days": request.args.get("days") or DAYS,
        "is_yours": owner == bidder,
        "balance": read_balance(bidder),
        "order": {"accountId": bidder, **about} if nft else None,
        "roles": _roles(owner, bidder),
        "done": _address("offered", nfts),
    }


def show_offered() -> Values:
    """The newest offer of the visitor for an NFT."""
    nfts = _read_nfts()
    made = [
        offer for nft in nfts for offer in _list_of(nft) if offer["to"]["accountId"] == visitor()
    ]
    return {"nfts": nfts, "offer": max(made, key=lambda one: one["createdAt"], default=None)}


def _list_of(nft: Values) -> list[Values]:
    return read_offers(*key_of(nft))


def _show_one(side: str, end: str) -> Values:
    """An open offer, for the account on one side of it: the price that it shows is what is agreed to."""
    nfts, offer_id = _read_nfts(), request.args.get("offer", "")
    open_offers = [one for nft in nfts for one in _list_of(nft)]
    offer = next((one for one in open_offers if one["offerId"] == offer_id), None)
    price = offer["price"] if offer else 0
    return {
        "nft": nfts[0] if nfts else None,
        "offer": offer,
        "is_yours": offer is not None and offer[side]["accountId"] == visitor(),
        "order": {"accountId": visitor(), "offerId": offer_id} if offer else None,
        "roles": _roles(offer["from"]["accountId"], offer["to"]["accountId"]) if offer else {},
        "done": _address(end, nfts, price=price),
    }


def show_acceptance() -> Values:
    values = _show_one("from", "accepted")
    if not (offer := values["offer"]):
        return values
    nft = values["nft"] | {"listingPrice": offer["price"]}
    collections = read_collections([nft])
    shares = terms().divide_purchase([nft], collections, offer["to"]["accountId"])
    order = values["order"] | {"expectedPrice": offer["price"]}
    return values | {"order": order, "shares": shares, "rate": rate()}


def show_accepted() -> Values:
    nfts = _read_nfts()
    price = request.args.get("price", 0, int)
    return {
        "nfts": nfts,
        "named": named(nfts),
        "price": price,
        "balance": read_balance(visitor()),
    }


def show_retraction() -> Values:
    return _show_one("to", "retracted")


def show_retracted() -> Values:
    return {"nfts": _read_nfts()}
