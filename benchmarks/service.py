"""How the service is set up for a measurement, inside this process and in servers."""

import os
from pathlib import Path

from marketplace.services import services

ROOT = Path(__file__).parent.parent
PUBLIC_URL = "https://nft.example.com"
MEDIA_URL = f"{PUBLIC_URL}/media"
NETWORK, ACCOUNT_ID = "testnet", "0.0.9001"
OWNERS = {"network": NETWORK, "account_id": ACCOUNT_ID}


def settings(database: Path) -> dict[str, str]:
    """As on a real network, which a run never asks for anything."""
    return {
        "NETWORK": NETWORK,
        "ACCOUNT_ID": ACCOUNT_ID,
        "PUBLIC_URL": PUBLIC_URL,
        "MIRROR_NODE_URL": "http://127.0.0.1:9",
        "DATABASE_URL": f"sqlite:///{database}",
        "MEDIA_URL": f"file:{database.parent}/media",
        # Counted as ever, and never reached.
        "WRITE_LIMIT": "999999/s",
    }


def environ(database: Path, **others: str) -> dict[str, str]:
    """A server's environment: nothing of what the caller may have set for another service."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("MARKETPLACE_")
    }
    ours = settings(database) | others
    return kept | {f"MARKETPLACE_{name}": value for name, value in ours.items()}


def create(database: Path, **others: str):
    """The service's application in this process; ``others`` are settings beside, or in place of, those."""
    from marketplace import create_app  # not before the environment is known to be clean

    return create_app(**settings(database) | others)


def create_access_tokens(database: Path) -> tuple[str, str]:
    """Real tokens, made as an operator makes them: one that may read, one that may write, too."""
    from marketplace.store import access_tokens

    app = create(database)
    with app.app_context():
        made = (
            access_tokens.create("reader", ("read",), 86_400),
            access_tokens.create("seller", ("read", "write"), 86_400),
        )
        services(app).database.close()
    return made
