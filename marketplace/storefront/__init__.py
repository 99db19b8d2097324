"""The storefront: web pages on every network, which are made of the answers of the public API.

This module has the addresses, and the values that all templates get. pages.py has what each page shows,
templates/ its text, static/ the scripts (one noun, one file).
"""

import gzip
import re
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import urlsplit

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    make_response,
    render_template,
    request,
    url_for,
)
from werkzeug.exceptions import NotFound

from marketplace.api.cache import PAGES as CACHED_PAGES
from marketplace.api.nft_collections import find_chosen
from marketplace.errors import StartRefused
from marketplace.hedera.ids import is_entity_id
from marketplace.storefront import head, offers, pages, trades, words
from marketplace.storefront.surroundings import KEY, Surroundings, page_token, surroundings
from marketplace.wsgi_environ import REQUEST_CACHE

# The scripts replace these in the addresses of an NFT's and of a collection's page.
ANY_NFT = {"token": "TOKEN", "serial_no": "SERIAL"}
# Each page's address, and the function that reads what it shows.
TEMPLATES: dict[str, Callable[..., pages.Values]] = {
    "/": pages.show_gallery,
    "/collections": pages.show_collections,
    "/search": pages.show_search,
    "/collection/<token>": pages.show_collection,
    "/collection/<token>/owners": pages.show_owners,
    "/account/<account>": pages.show_account,
    "/account/<account>/offers": pages.show_offers,
    "/nft/<token>/<serial_no>": pages.show_nft,
    "/activity": pages.show_activity,
    "/basket": pages.show_basket,
    "/list": trades.show_listing,
}

# What the dialogs of trades show, read by scripts.
FRAGMENTS: tuple[Callable[..., pages.Values], ...] = (
    trades.show_purchase,
    trades.show_purchased,
    trades.show_withdrawal,
    trades.show_withdrawn,
    trades.show_listed,
    trades.show_sweep,
    offers.show_offer,
    offers.show_offered,
    offers.show_acceptance,
    offers.show_accepted,
    offers.show_retraction,
    offers.show_retracted,
)

# The API reference links to these endpoints, by these names.
PAGES = (
    ("storefront.show_gallery", "For sale"),
    ("storefront.show_collections", "Collections"),
    ("storefront.show_activity", "Activity"),
    ("storefront.show_listing", "List an NFT"),
)

ASSETS = "/assets"


def show(template: str, read: Callable[..., pages.Values], **ids: str) -> tuple[str, int]:
    """A page, with the status of the answer that it is about."""
    named = {ids.get("token", ""), request.args.get("collection", "")}
    tokens = {*filter(is_entity_id, named)}
    if tokens and tokens != find_chosen(tokens):
        abort(404)
    values = read(**ids)
    answers = [values[name] for name in ("record", "book", "answer", "found") if values.get(name)]
    own = values.get("page_status", 200)
    status = next((one.status for one in answers if not one.is_ok), own)
    if status == 200:
        values |= head.describe(template, values)
    return render_template(f"storefront/{template}.html", **values), status


def make_blueprint(own: Surroundings) -> Blueprint:
    blp = Blueprint("storefront", __name__, template_folder="templates")
    own.assets.serve_from(blp, ASSETS)
    for path, read in TEMPLATES.items():
        name = read.__name__.removeprefix("show_")
        blp.add_url_rule(path, read.__name__, partial(show, name, read))
    for read in FRAGMENTS:
        name = read.__name__.removeprefix("show_")
        blp.add_url_rule(f"/trade/{name}", read.__name__, partial(show, f"trade/{name}", read))
    blp.app_context_processor(give_addresses)
    blp.app_context_processor(give_words)
    blp.after_request(complete)
    return blp


def give_words() -> dict[str, Any]:
    """Give the pages what they say beside their values."""
    return {
        "basket_without": words.basket_without,
        "chips_of": words.chips,
        "listed_count": words.listed_count,
        **words.ORDERS,
    }


def give_addresses() -> dict[str, Any]:
    """Give each page, and the API reference, the addresses of the API and of pages, and the token."""
    root, config, own = request.script_root, current_app.config, surroundings()
    return {
        "imports_of": own.assets.find_imports,
        "has_asset": own.assets.has,
        "now_ms": lambda: round(1000 * time()),
        "pages": PAGES,
        "addresses": {
            "token": page_token() if own.sandbox else "",  # in the sandbox, for code to copy
            "renewal": url_for("visitors.show_visitor_token"),
            "wallet": config["WALLETS"][0],
            "visitor": own.visitor,
            "network": config["NETWORK"],
            "relay": own.find_relay(),
            "project": config["WALLETCONNECT_PROJECT_ID"],
            "api": f"{root}{config['API_PREFIX']}/v1",
            "sandbox": own.sandbox and root + own.sandbox,
            "gallery": url_for("storefront.show_gallery"),
            "collections": url_for("storefront.show_collections"),
            "collection": url_for("storefront.show_collection", token=ANY_NFT["token"]),
            "holder": url_for("storefront.show_account", account="ACCOUNT"),
            "nft": url_for(
                "storefront.show_nft", token=ANY_NFT["token"], serial_no=ANY_NFT["serial_no"]
            ),
            "activity": url_for("storefront.show_activity"),
            "listing": url_for("storefront.show_listing"),
            "basket": url_for("storefront.show_basket"),
            "trade": url_for("storefront.show_purchase").replace("purchase", "NAME"),
        },
    }


def complete(response: Response) -> Response:
    """The headers of a page; and a page for browsers while the database does not answer."""
    is_away = response.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    if is_away and response.is_json and is_for_browser():
        response.set_data(render_template("storefront/503.html"))
        response.mimetype = "text/html"
    return compress(set_policy(response))


def is_for_browser() -> bool:
    wanted = request.accept_mimetypes.best_match(("application/json", "text/html"))
    return wanted == "text/html"


def set_policy(response: Response) -> Response:
    """Let a page load its own files and images from the addresses of the settings, and reach the relay.

    Scripts and styles obey the page's policy. Without one of their own, a page is 4 kB smaller.
    """
    response.headers["X-Content-Type-Options"] = "nosniff"
    if response.mimetype not in ("text/html", "image/svg+xml"):
        return response
    settings = current_app.config
    urls = map(urlsplit, (settings["PUBLIC_URL"], settings["MEDIA_PUBLIC_URL"]))
    connected = f"'self' {surroundings().find_relay_origin()}".strip()
    images = " ".join(sorted({f"{url.scheme}://{url.netloc}" for url in urls}))
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src {connected}; "
        f"img-src 'self' {images}; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    response.headers["Referrer-Policy"] = "no-referrer"
    if response.mimetype == "text/html":
        # api/cache.py replaces it where a page is the same for everybody.
        response.headers["Cache-Control"] = "private, no-cache"
    return response


def compress(response: Response) -> Response:
    """Compress a page if the browser accepts that. The cache does so with those that it keeps."""
    if REQUEST_CACHE in request.environ:
        return response
    is_page = response.mimetype == "text/html" and response.status_code == 200
    response.vary.add("Accept-Encoding")
    if is_page and request.accept_encodings["gzip"]:
        response.set_data(gzip.compress(response.get_data(), 6, mtime=0))
        response.content_encoding = "gzip"
    return response


def init_app(
    app: Flask,
    own: Surroundings,
    api: re.Pattern[str],
    answer_error: Callable[[NotFound], Any],
) -> None:
    """``api``: the paths of the API. ``answer_error``: answers them, and programs."""
    app.extensions[KEY] = own
    if name := app.config["STOREFRONT_DIR"]:
        folder = Path(name).absolute()
        if not folder.is_dir():
            raise StartRefused(f"MARKETPLACE_STOREFRONT_DIR={name} is not a folder")
        app.template_folder = str(folder / "templates")  # where Flask looks first
        own.join_assets(folder / "static")
    else:
        own.join_assets()
    words.init_app(app)
    if not own.sandbox:
        pattern = "|".join(re.sub("<[^>]+>", "[^/]+", path) for path in TEMPLATES)
        app.extensions[CACHED_PAGES] = re.compile(pattern)
    app.register_blueprint(make_blueprint(own))

    @app.errorhandler(404)
    def show_not_found(error: NotFound) -> Any:
        """Show browsers a page, but never at an address of the API: other origins would read its token."""
        is_file = request.path.startswith(("/media/", f"{ASSETS}/"))
        if is_file or api.match(request.path) or not is_for_browser():
            return answer_error(error)
        return set_policy(make_response(render_template("storefront/404.html"), 404))
