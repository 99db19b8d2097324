"""What search engines may read of the storefront: /robots.txt, and the sitemap of all NFTs.

The sitemap has a part for each PART serial numbers of a collection. It is read by key, and none of it is
kept. A host's own authenticate() decides who reads, so that its pages are in no sitemap.
"""

from xml.sax.saxutils import escape

from flask import Blueprint, Response, abort, current_app, url_for

from marketplace.api.authentication import KEY, authenticate
from marketplace.api.http import public_url_for
from marketplace.api.nft_collections import find_chosen
from marketplace.services import read
from marketplace.store import nft_collections, nfts

PART = 5_000  # serial numbers
PARTS_OF_COLLECTION, PARTS = 200, 50_000  # at most: the second is the protocol's own limit
COLLECTIONS = 5_000
XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"
MAX_AGE_SECONDS = 3600
# Only scripts ask for these, or they are one visitor's.
NOT_FOR_ROBOTS = ("show_basket", "show_listing", "show_search")

blp = Blueprint("sitemap", __name__)


@blp.get("/robots.txt")
def show_robots() -> Response:
    """Say what search engines may read"""
    if not _is_open():
        return Response("User-agent: *\nDisallow: /\n", mimetype="text/plain")
    own = [url_for(f"storefront.{name}") for name in NOT_FOR_ROBOTS]
    trades = url_for("storefront.show_purchase").removesuffix("purchase")
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in (*own, trades))]
    sitemap = public_url_for("sitemap.show_sitemap")
    return Response("\n".join([*lines, f"Sitemap: {sitemap}", ""]), mimetype="text/plain")


@blp.get("/sitemap.xml")
def show_sitemap() -> Response:
    """List the parts of the sitemap"""
    _require_open()
    chosen = current_app.config["STOREFRONT_COLLECTIONS"]
    parts = [
        public_url_for("sitemap.show_part", token=row["token"], part=part)
        for row in nft_collections.list_last_serial_nos(read(), chosen, COLLECTIONS)
        for part in range(min(row["last_serial_no"] // PART + 1, PARTS_OF_COLLECTION))
    ]
    return _answer("sitemapindex", "sitemap", parts[:PARTS])


@blp.get("/sitemap/<token>/<int:part>.xml")
def show_part(token: str, part: int) -> Response:
    """List the pages of a collection's NFTs"""
    _require_open()
    collection = nft_collections.get_collection(read(), token)
    is_visible = collection and not collection["is_hidden"] and token in find_chosen([token])
    if not is_visible or part >= PARTS_OF_COLLECTION:
        abort(404)
    serial_nos = nfts.list_shown_between(read(), token, part * PART, part * PART + PART - 1)
    # One address is made by the routing, the others after its form: that takes a tenth of the time.
    form = public_url_for("storefront.show_nft", token=token, serial_no="SERIAL")
    pages = [form.replace("SERIAL", str(serial_no)) for serial_no in serial_nos]
    if part == 0:
        pages.insert(0, public_url_for("storefront.show_collection", token=token))
    return _answer("urlset", "url", pages)


def _is_open() -> bool:
    return current_app.extensions[KEY] is authenticate


def _require_open() -> None:
    if not _is_open():
        abort(404)


def _answer(root: str, name: str, addresses: list[str]) -> Response:
    rows = "".join(f"<{name}><loc>{escape(address)}</loc></{name}>\n" for address in addresses)
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{XMLNS}">\n{rows}</{root}>\n'
    headers = {"Cache-Control": f"public, max-age={MAX_AGE_SECONDS}"}
    return Response(body, mimetype="application/xml", headers=headers)
