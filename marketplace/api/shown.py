"""The collections that the pages show, by the setting STOREFRONT_COLLECTIONS."""

from collections.abc import Iterable

from flask import current_app

from marketplace.services import read
from marketplace.store.shown_collections import ALL, Shown, list_shown


def shown_collections() -> Shown:
    shown: Shown = current_app.config["STOREFRONT_COLLECTIONS"]
    return shown


def shows_all() -> bool:
    return shown_collections() == ALL


def select_shown(only_shown: bool) -> Shown:
    """What a query asks for."""
    return shown_collections() if only_shown else ALL


def find_shown(tokens: Iterable[str]) -> set[str]:
    """Those of these tokens whose collections the pages show."""
    return list_shown(read(), shown_collections(), tokens)
