"""The NFT Marketplace Service. ``create_app()`` makes it: see marketplace/factory.py."""

from typing import TYPE_CHECKING, Any

from marketplace.version import __version__

if TYPE_CHECKING:
    from marketplace.factory import create_app

__all__ = ["__version__", "create_app"]


def __getattr__(name: str) -> Any:
    """Import the application on first use: processes that fetch strangers' files must not load it."""
    if name == "create_app":
        from marketplace.factory import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
