"""What search engines and other sites read of a page: its one address, and what it shows as JSON-LD."""

from typing import Any

from flask import current_app, request

from marketplace.api.http import public_url_for
from marketplace.storefront.words import lack_of_picture, traits

# Of other pages, the content is found on these, or is one visitor's.
FOUND = {"gallery", "collections", "collection", "owners", "account", "nft", "activity"}


def describe(template: str, values: dict[str, Any]) -> dict[str, Any]:
    """The values of the head of a page that is there."""
    if template not in FOUND:
        return {}
    canonical = public_url_for(request.endpoint or "", **(request.view_args or {}))
    make = {"gallery": _describe_site, "collection": _describe_collection, "nft": _describe_nft}
    if template not in make:
        return {"canonical": canonical}
    described = {"@context": "https://schema.org", "url": canonical} | make[template](values)
    shown = {name: value for name, value in described.items() if value}
    return {"canonical": canonical, "described": shown, "picture": shown.get("image")}


def _describe_site(values: dict[str, Any]) -> dict[str, Any]:
    return {"@type": "WebSite", "name": current_app.config["NAME"]}


def _describe_collection(values: dict[str, Any]) -> dict[str, Any]:
    collection = values["record"].data
    return {
        "@type": "CollectionPage",
        "name": collection["name"] or values["token"],
        "description": collection["description"],
        "image": values["image"],
    }


def _describe_nft(values: dict[str, Any]) -> dict[str, Any]:
    nft, collection = values["record"].data, values["collection"]
    offer = {
        "@type": "Offer",
        "price": nft["listingPrice"],
        "priceCurrency": "HBAR",
        "availability": "https://schema.org/InStock",
        "url": public_url_for(request.endpoint or "", **(request.view_args or {})),
    }
    return {
        "@type": "Product",
        "name": nft["name"],
        "description": _say(nft, collection),
        "sku": f"{nft['token']}@{nft['serialNo']}",
        "category": collection.get("name"),
        "image": None if lack_of_picture(nft) else nft["imageUrl"],
        "additionalProperty": [
            {"@type": "PropertyValue", "name": one["trait_type"], "value": one["value"]}
            for one in traits(nft["stringifiedAttributes"])
            if {"trait_type", "value"} <= one.keys()
        ],
        "offers": offer if nft["isForSale"] else None,
    }


def _say(nft: dict[str, Any], collection: dict[str, Any]) -> str:
    """A sentence: Peaks #7, an NFT of Peaks on the Hedera network: for sale for 250 HBAR."""
    name = collection.get("name") or f"the collection {nft['token']}"
    price = f"for sale for {nft['listingPrice']:,} HBAR" if nft["isForSale"] else "not for sale"
    return f"{nft['name']}, an NFT of {name} on the Hedera network: {price}."
