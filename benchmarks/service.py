"""How the service is set up for a measurement, inside this process and in servers."""

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
PUBLIC_URL = "https://nft.example.com"
MEDIA_URL = f"{PUBLIC_URL}/media"


def settings(database: Path) -> dict[str, str]:
    """As on a real network, which a run never asks for anything."""
    return {
        "NETWORK": "testnet",
        "ACCOUNT_ID": "0.0.9001",
        "PUBLIC_URL": PUBLIC_URL,
        "MIRROR_NODE_URL": "http://127.0.0.1:9",
        "DATABASE_URL": f"sqlite:///{database}",
        "MEDIA_URL": f"file:{database.parent}/media",
    }


def environ(database: Path) -> dict[str, str]:
    """A server's environment: nothing of what the caller may have set for another service."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("MARKETPLACE_")
    }
    return kept | {f"MARKETPLACE_{name}": value for name, value in settings(database).items()}


def create(database: Path):
    """The service's application in this process."""
    from marketplace import create_app  # not before the environment is known to be clean

    return create_app(**settings(database))


def create_access_tokens(database: Path) -> tuple[str, str]:
    """Real tokens, made as an operator makes them: one that may read, one that may write, too."""
    from marketplace.store import access_tokens

    app = create(database)
    with app.app_context():
        made = (
            access_tokens.create("reader", ("read",), 86_400),
            access_tokens.create("seller", ("read", "write"), 86_400),
        )
        app.extensions["database"].close()
    return made
