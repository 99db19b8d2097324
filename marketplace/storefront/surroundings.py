"""What the pages get from where they are: a real network, or the sandbox."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from flask import Flask, current_app, g

from marketplace.api.visitors import make_token
from marketplace.assets import Assets

KEY = "marketplace.storefront"  # in the application's extensions
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


def _find_relay() -> str:
    return str(current_app.config["WALLETCONNECT_RELAY_URL"])


@dataclass(kw_only=True)
class Surroundings:
    """Its defaults are those of a real network."""

    make_token: Callable[[], str] = make_token
    find_relay: Callable[[], str] = _find_relay  # empty: no wallet can be connected
    sandbox: str = ""  # the path of the sandbox; empty if there is none
    visitor: str = ""  # a visitor's first account; empty until a wallet is connected
    suggest: Callable[[], Mapping[str, str]] = dict  # an NFT to list, and its price
    folders: tuple[Path, ...] = ()  # with more scripts
    assets: Assets = field(init=False)

    def join_assets(self, *more: Path) -> None:
        """Join the scripts, styles and pictures of all folders."""
        style = {"style.css": [STATIC / f"{name}.css" for name in STYLE]}
        self.assets = Assets([STATIC, *self.folders, *more], style)

    def find_relay_origin(self) -> str:
        url = urlsplit(self.find_relay())
        return f"{url.scheme}://{url.netloc}" if url.netloc else ""


def surroundings(app: Flask | None = None) -> Surroundings:
    """Those of an application, by default of the current one."""
    own: Surroundings = (app or current_app).extensions[KEY]
    return own


def page_token() -> str:
    """The token of this page and of its calls, made once."""
    if "storefront_token" not in g:
        g.storefront_token = surroundings().make_token()
    token: str = g.storefront_token
    return token
