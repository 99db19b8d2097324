"""The demo: pages for people, about the sandbox. They call the public API from the browser.

There is nothing here but addresses and what the pages are given: templates hold the text, static/ the
scripts (one noun, one file), snippets/ the code that a wallet developer copies.
"""

import random
from pathlib import Path
from urllib.parse import urlsplit

from flask import Blueprint, Flask, current_app, render_template, request, url_for

from marketplace import sandbox
from marketplace.sandbox import access

SNIPPETS = (
    ("hashconnect-0.js", "HashConnect 0.x"),
    ("hashconnect-3.js", "HashConnect v3"),
    ("walletconnect.js", "WalletConnect (HIP-820)"),
    ("sdk.mjs", "JavaScript SDK"),
    ("sdk.py", "Python SDK"),
)
# What the listing form suggests: an account and an NFT that the sample does not use.
SELLER, TOKEN, SERIAL_NOS, PRICE = "0.0.2002", "0.0.7007", range(1, 10_000), 250
BUYER = "0.0.2007"
# What the scripts replace in the addresses of an NFT's and of a collection's page.
ANY_NFT = {"token": "TOKEN", "serial_no": "SERIAL"}
# What of the order book is wanted, in the address of a page that shows it.
FILTERS = ("collection", "account", "minPrice", "maxPrice", "sort")

# What the API reference leads back to: endpoints, and their names.
PAGES = (("demo.show_gallery", "For sale"), ("demo.show_listing", "List an NFT"))

blp = Blueprint(
    "demo",
    __name__,
    template_folder="templates",
    static_folder="static",
    static_url_path="/demo/static",
)


@blp.get("/")
def show_gallery():
    """Show the order book as a gallery"""
    return render_template("demo/gallery.html", asked=asked())


@blp.get("/demo/collection/<token>")
def show_collection(token):
    """Show a collection, and what of it is for sale"""
    return render_template("demo/collection.html", token=token, asked=asked())


@blp.get("/demo/nft/<token>/<serial_no>")
def show_nft(token, serial_no):
    """Show one NFT"""
    return render_template(
        "demo/nft.html",
        token=token,
        serial_no=serial_no,
        buyer=BUYER,
    )


@blp.get("/demo/list")
def show_listing():
    """Show how an NFT is listed, step by step"""
    suggested = {
        "account": SELLER,
        "token": TOKEN,
        "serial_no": random.choice(SERIAL_NOS),
        "price": PRICE,
    }
    folder = Path(__file__).parent / "snippets"
    snippets = [(title, (folder / name).read_text()) for name, title in SNIPPETS]
    return render_template(
        "demo/listing.html", values=suggested | request.args.to_dict(), snippets=snippets
    )


def asked() -> dict[str, str]:
    """What of the order book the address asks for: no more than the filters that there are."""
    values = {name: request.args.get(name, "").strip() for name in FILTERS}
    return {name: value for name, value in values.items() if value}


@blp.context_processor
def give_addresses():
    """What every page knows: where the API is, where the pages are, and the sandbox's own token."""
    root = request.script_root
    return {
        "addresses": {
            "token": access.kept_token(),
            "wallet": current_app.config["WALLETS"][0],
            "account": current_app.config["ACCOUNT_ID"],
            "fee": current_app.config["SALE_FEE_BASIS_POINTS"],
            "limit": 1000,  # of a user's listings
            "api": f"{root}{current_app.config['API_PREFIX']}/v1",
            "sandbox": root + sandbox.PATH,
            "gallery": url_for("demo.show_gallery"),
            "collection": url_for("demo.show_collection", token=ANY_NFT["token"]),
            "nft": url_for("demo.show_nft", **ANY_NFT),
            "listing": url_for("demo.show_listing"),
        }
    }


@blp.after_request
def forbid_the_rest(response):
    """Let a page load its own files, and the images where the settings say that they are."""
    settings = current_app.config
    urls = map(urlsplit, (settings["PUBLIC_URL"], settings["MEDIA_PUBLIC_URL"]))
    images = " ".join(sorted({f"{url.scheme}://{url.netloc}" for url in urls}))
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        f"img-src 'self' {images}; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    if response.mimetype == "text/html":
        response.headers["Cache-Control"] = "private, no-cache"  # it holds a token
    return response


def init_app(app: Flask) -> None:
    app.register_blueprint(blp)
