"""The demo: web pages for the sandbox, which are made of the answers of the public API.

This module has the addresses, and the values that all templates get. pages.py has what each page shows,
templates/ its text, static/ the scripts (one noun, one file), snippets/ the code that wallet developers copy.
"""

import gzip
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import urlsplit

from flask import (
    Blueprint,
    Flask,
    Response,
    current_app,
    make_response,
    render_template,
    request,
    url_for,
)
from werkzeug.exceptions import NotFound

from marketplace.assets import Assets
from marketplace.demo import calls, offers, pages, trades, words
from marketplace.hedera.ids import is_entity_id
from marketplace.sandbox import addresses
from marketplace.sandbox.addresses import PATH
from marketplace.services import services

# A purchase is signed and returned: snippets/buy/ has the code of the wallets that do this by another call.
SNIPPETS = (
    ("hashconnect-0.js", "HashConnect 0.x"),
    ("hashconnect-3.js", "HashConnect v3"),
    ("walletconnect.js", "WalletConnect (HIP-820)"),
    ("sdk.mjs", "JavaScript SDK"),
    ("sdk.py", "Python SDK"),
)
# A visitor's first account, and the others in the masthead's menu: the sample's owners.
VISITOR = "0.0.2007"
ACCOUNTS = (VISITOR, *(f"0.0.{number}" for number in range(1001, 1007)))
# The listing form suggests an NFT that the sample does not use.
TOKEN, SERIAL_NOS, PRICE = "0.0.7007", range(1, 10_000), 250
SAMPLE = ("0.0.5004", "7")  # its artwork is used for pages that have none of their own
# The scripts replace these in the addresses of an NFT's and of a collection's page.
ANY_NFT = {"token": "TOKEN", "serial_no": "SERIAL"}
# Each page's address, and the function that reads what it shows.
TEMPLATES: dict[str, Callable[..., pages.Values]] = {
    "/": pages.show_gallery,
    "/demo/collections": pages.show_collections,
    "/demo/search": pages.show_search,
    "/demo/collection/<token>": pages.show_collection,
    "/demo/collection/<token>/owners": pages.show_owners,
    "/demo/account/<account>": pages.show_account,
    "/demo/account/<account>/offers": pages.show_offers,
    "/demo/nft/<token>/<serial_no>": pages.show_nft,
    "/demo/activity": pages.show_activity,
    "/demo/basket": pages.show_basket,
    "/demo/wallet": pages.show_wallet,
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
    ("demo.show_gallery", "For sale"),
    ("demo.show_collections", "Collections"),
    ("demo.show_activity", "Activity"),
    ("demo.show_listing", "List an NFT"),
)

STATIC = Path(__file__).parent / "static"
# The parts of the one stylesheet, in their order.
STYLE = (
    "base",
    "controls",
    "code",
    "list",
    "collection",
    "nft",
    "trade",
    "activity",
    "basket",
    "wallet",
)
ASSETS = Assets(STATIC, {"style.css": [STATIC / f"{name}.css" for name in STYLE]})

blp = Blueprint("demo", __name__, template_folder="templates")
ASSETS.serve_from(blp, "/demo/assets")


def show(template: str, read: Callable[..., pages.Values], **ids: str) -> tuple[str, int]:
    """A page, with the status of the answer that it is about."""
    values = read(**ids)
    answers = [values[name] for name in ("record", "book", "answer", "found") if values.get(name)]
    status = next((one.status for one in answers if not one.is_ok), 200)
    return render_template(f"demo/{template}.html", **values), status


for path, read in TEMPLATES.items():
    name = read.__name__.removeprefix("show_")
    blp.add_url_rule(path, read.__name__, partial(show, name, read))
for read in FRAGMENTS:
    name = read.__name__.removeprefix("show_")
    blp.add_url_rule(f"/demo/trade/{name}", read.__name__, partial(show, f"trade/{name}", read))


@blp.get("/demo/list")
def show_listing() -> str:
    suggested = {
        "account": VISITOR,
        "token": TOKEN,
        "serial_no": str(random.choice(SERIAL_NOS)),
        "price": PRICE,
    }
    return render_template("demo/listing.html", **trades.show_listing(suggested))


def read_snippets(*folders: str) -> list[tuple[str, str]]:
    """Each wallet's title and code, from the first of these folders that has it, or else from snippets/."""
    snippets = Path(__file__).parent / "snippets"
    places = [snippets / name for name in (*folders, ".")]
    return [
        (title, next(place / name for place in places if (place / name).exists()).read_text())
        for name, title in SNIPPETS
    ]


def artwork(token: str, serial_no: str) -> str:
    """The address of an NFT's artwork, for previews of a page. An invalid id gets the sample's artwork."""
    is_known = is_entity_id(token) and re.fullmatch(r"[0-9]{1,19}", serial_no)
    token, serial_no = (token, serial_no) if is_known else SAMPLE
    return addresses.artwork(token, serial_no)


@blp.context_processor
def give_words() -> dict[str, Any]:
    """Give the demo's own pages what they say beside their values."""
    return {
        "calls_made": calls.made,
        "basket_without": words.basket_without,
        "chips_of": words.chips,
        "listed_count": words.listed_count,
        "read_snippets": read_snippets,
        **words.ORDERS,
    }


@blp.app_context_processor
def give_addresses() -> dict[str, Any]:
    """Give each page, and the API reference, the addresses of the API and of pages, and the token."""
    root = request.script_root
    return {
        "accounts": ACCOUNTS,
        "imports_of": ASSETS.find_imports,
        "now_ms": lambda: round(1000 * time()),
        "artwork": artwork,
        "pages": PAGES,
        "addresses": {
            "token": addresses.kept_token(),
            "wallet": current_app.config["WALLETS"][0],
            "visitor": VISITOR,
            "relay": find_relay(),
            "api": f"{root}{current_app.config['API_PREFIX']}/v1",
            "sandbox": root + PATH,
            "gallery": url_for("demo.show_gallery"),
            "collections": url_for("demo.show_collections"),
            "collection": url_for("demo.show_collection", token=ANY_NFT["token"]),
            "holder": url_for("demo.show_account", account="ACCOUNT"),
            "nft": url_for("demo.show_nft", token=ANY_NFT["token"], serial_no=ANY_NFT["serial_no"]),
            "activity": url_for("demo.show_activity"),
            "listing": url_for("demo.show_listing"),
            "basket": url_for("demo.show_basket"),
            "check": url_for("demo.show_wallet"),
            "trade": url_for("demo.show_purchase").replace("purchase", "NAME"),
        },
    }


def find_relay() -> str:
    """The address of the wallets' relay, on the host that was asked; empty if none is served."""
    sandbox = services().sandbox
    port = sandbox and sandbox.app.config.get("RELAY_PORT")
    return f"ws://{urlsplit(request.host_url).hostname}:{port}" if port else ""


@blp.after_request
def set_policy(response: Response) -> Response:
    """Let a page load only its own files, and images from the addresses of the settings."""
    settings = current_app.config
    urls = map(urlsplit, (settings["PUBLIC_URL"], settings["MEDIA_PUBLIC_URL"]))
    connected = f"'self' {find_relay()}".strip()
    images = " ".join(sorted({f"{url.scheme}://{url.netloc}" for url in urls}))
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src {connected}; "
        f"img-src 'self' {images}; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    if response.mimetype == "text/html":
        response.headers["Cache-Control"] = "private, no-cache"  # the page has a token
    return response


@blp.after_request
def compress(response: Response) -> Response:
    """Compress a page if the browser accepts that."""
    is_page = response.mimetype == "text/html" and response.status_code == 200
    response.vary.add("Accept-Encoding")
    if is_page and request.accept_encodings["gzip"]:
        response.set_data(gzip.compress(response.get_data(), 6, mtime=0))
        response.content_encoding = "gzip"
    return response


def init_app(app: Flask, api: re.Pattern[str], answer_error: Callable[[NotFound], Any]) -> None:
    """``api``: the paths of the API. ``answer_error``: answers them, and programs."""
    words.init_app(app)
    app.register_blueprint(blp)

    @app.errorhandler(404)
    def show_not_found(error: NotFound) -> Any:
        """Show browsers a page, but never at an address of the API: other origins would read its token."""
        wanted = request.accept_mimetypes.best_match(("application/json", "text/html"))
        is_file = request.path.startswith(("/media/", "/demo/assets/"))
        if is_file or api.match(request.path) or wanted != "text/html":
            return answer_error(error)
        return set_policy(make_response(render_template("demo/404.html"), 404))
