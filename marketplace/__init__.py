"""The NFT Marketplace Service. ``create_app()`` makes it, and ``ask()`` reads it: docs/embedding.md."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marketplace.api.in_process import AskRefused, ask
    from marketplace.factory import create_app
    from marketplace.version import __version__

__all__ = ["AskRefused", "__version__", "ask", "create_app"]


def __getattr__(name: str) -> Any:
    """Import on first use: the sandbox, and processes that fetch strangers' files, load none of it."""
    if name == "create_app":
        from marketplace.cli.command import refusing_commands
        from marketplace.factory import create_app

        return refusing_commands()(create_app)
    if name in ("ask", "AskRefused"):
        from marketplace.api import in_process

        return getattr(in_process, name)
    if name == "__version__":
        from marketplace.version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
