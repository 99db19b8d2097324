"""What the dialogs of offers show: to make one, to accept one and to withdraw one, and how that ended."""

from typing import Any
from urllib.parse import quote

from flask import current_app, request, url_for

from marketplace.storefront import calls
from marketplace.storefront.basket import read_items
from marketplace.storefront.pages import Values, key_of, rate, read_balance, read_offers, terms
from marketplace.storefront.trades import named, read_collections, read_nfts, visitor

DAYS = 7  # until an offer expires, unless its bidder chooses otherwise


def _read_nfts() -> list[Values]:
    return read_nfts([*read_items()])


def _address(name: str, nfts: list[Values], **values: Any) -> str:
    """The fragment that says how it ended well."""
    items = [f"{nft['token']}:{nft['serialNo']}" for nft in nfts]
    return url_for(f"storefront.show_{name}", account=visitor(), nft=items, **values)


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


def _read_offer(offer_id: str, *states: str) -> Values | None:
    """An offer, if it is in one of these states."""
    answer = calls.get(f"/offers/{quote(offer_id, safe='')}") if offer_id else None
    return answer.data if answer and answer.is_ok and answer.data["state"] in states else None


def _show_one(side: str, end: str, *states: str) -> Values:
    """An offer, for the account on one side of it: the price that it shows is what is agreed to."""
    nfts, offer_id = _read_nfts(), request.args.get("offer", "")
    offer = _read_offer(offer_id, *states)
    if offer and key_of(offer) not in map(key_of, nfts):
        offer = None
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
    values = _show_one("from", "accepted", "OPEN")
    if not (offer := values["offer"]):
        return values
    nft = values["nft"] | {"listingPrice": offer["price"]}
    collections = read_collections([nft])
    shares = terms().divide_purchase([nft], collections, offer["to"]["accountId"])
    received = shares[1].tinybars if shares else None
    return values | {
        "order": values["order"] | {"expectedPrice": offer["price"]},
        "shares": shares,
        "rate": rate(),
        "done": _address("accepted", [nft], price=offer["price"], received=received),
    }


def show_accepted() -> Values:
    nfts = _read_nfts()
    price = request.args.get("price", 0, int)
    return {
        "nfts": nfts,
        "named": named(nfts),
        "price": price,
        "received": request.args.get("received", None, int),
    }


def show_retraction() -> Values:
    """For the bidder, or the owner."""
    values = _show_one("to", "retracted", "OPEN", "CLOSED")
    offer, is_bidder = values["offer"], values["is_yours"]
    is_owner = offer is not None and offer["from"]["accountId"] == visitor()
    return values | {"is_yours": is_bidder or is_owner, "is_bidder": is_bidder}


def show_retracted() -> Values:
    return {"nfts": _read_nfts()}
