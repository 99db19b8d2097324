"""The NFT Marketplace Service. ``create_app()`` makes it: see marketplace/factory.py."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marketplace.factory import create_app
    from marketplace.version import __version__

__all__ = ["__version__", "create_app"]


def __getattr__(name: str) -> Any:
    """Import on first use: the sandbox, and processes that fetch strangers' files, load none of it."""
    if name == "create_app":
        from marketplace.cli.command import refusing_commands
        from marketplace.factory import create_app

        return refusing_commands()(create_app)
    if name == "__version__":
        from marketplace.version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
