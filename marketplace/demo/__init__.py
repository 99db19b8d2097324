"""The demo: what the sandbox adds to the storefront's pages.

It adds a menu of accounts, a wallet that signs for all of them, the check of a wallet, and the developer's
layer. templates/ stand before the storefront's, static/ has the scripts, snippets/ the code that wallet
developers copy.
"""

import base64
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Flask, abort, redirect, render_template, request, url_for

from marketplace import storefront
from marketplace.hedera.ids import is_entity_id
from marketplace.sandbox import addresses, wallet
from marketplace.services import services
from marketplace.storefront import calls
from marketplace.storefront.surroundings import Surroundings

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
TOKEN, SERIAL_NOS, PRICE = "0.0.7007", range(1, 10_000), "250"
SAMPLE = ("0.0.5004", "7")  # its artwork is used for pages that have none of their own
FOLDER = Path(__file__).parent

# The pages that were below /demo when there were none on real networks.
MOVED = re.compile(r"collections|search|activity|basket|list|(collection|account|nft)(/[\w.]+)+")

blp = Blueprint("demo", __name__, template_folder="templates")
blp.after_request(storefront.complete)


@blp.get("/demo/wallet")
def show_wallet() -> str:
    """Check a wallet; scripts have the rows"""
    return render_template("storefront/wallet.html")


@blp.get("/demo/message")
def sign_message() -> dict[str, str]:
    """Sign a text with the demo wallet, for any account"""
    signed = wallet.sign_message(request.args["accountId"], request.args["message"])
    return {"signatureMap": base64.b64encode(signed).decode()}


@blp.get("/demo/<path:page>")
def show_moved(page: str) -> Any:
    """Lead to the page that was here"""
    if not MOVED.fullmatch(page):
        abort(404)
    query = request.query_string.decode(errors="replace")
    return redirect(f"{request.script_root}/{page}{'?' if query else ''}{query}", 301)


@blp.app_context_processor
def give_more() -> dict[str, Any]:
    """Give the pages what stands in the templates of this folder."""
    return {
        "accounts": ACCOUNTS,
        "artwork": artwork,
        "calls_made": calls.made,
        "check_page": url_for("demo.show_wallet"),
        "read_snippets": read_snippets,
    }


def read_snippets(*folders: str) -> list[tuple[str, str]]:
    """Each wallet's title and code, from the first of these folders that has it, or else from snippets/."""
    places = [FOLDER / "snippets" / name for name in (*folders, ".")]
    return [
        (title, next(place / name for place in places if (place / name).exists()).read_text())
        for name, title in SNIPPETS
    ]


def artwork(token: str, serial_no: str) -> str:
    """The address of an NFT's artwork, for previews of a page. An invalid id gets the sample's artwork."""
    is_known = is_entity_id(token) and re.fullmatch(r"[0-9]{1,19}", serial_no)
    token, serial_no = (token, serial_no) if is_known else SAMPLE
    return addresses.artwork(token, serial_no)


def suggest() -> Mapping[str, str]:
    """An NFT to list."""
    serial_no = str(random.choice(SERIAL_NOS))
    return {"account": VISITOR, "token": TOKEN, "serial_no": serial_no, "price": PRICE}


def find_relay() -> str:
    """The address of the wallets' relay, on the host that was asked; empty if none is served."""
    sandbox = services().sandbox
    port = sandbox and sandbox.app.config.get("RELAY_PORT")
    return f"ws://{urlsplit(request.host_url).hostname}:{port}" if port else ""


def init_app(app: Flask, api: re.Pattern[str], answer_error: Callable[..., Any]) -> None:
    """``api`` and ``answer_error``: as storefront.init_app() takes them."""
    app.register_blueprint(blp)  # before the storefront's: its templates are found first
    own = Surroundings(
        make_token=addresses.kept_token,
        find_relay=find_relay,
        sandbox=addresses.PATH,
        visitor=VISITOR,
        suggest=suggest,
        folders=(FOLDER / "static",),
    )
    storefront.init_app(app, own, api, answer_error)
