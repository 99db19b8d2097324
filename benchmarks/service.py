"""How the service is set up for a measurement, inside this process and in servers."""

from pathlib import Path

from marketplace import create_app
from marketplace.services import services
from marketplace.store import access_tokens

PUBLIC_URL = "https://nft.example.com"


def settings(database: Path, url: str | None = None) -> dict[str, str]:
    """As on a real network, which a run never asks for anything. ``url`` leads to PostgreSQL."""
    return {
        "NETWORK": "testnet",
        "ACCOUNT_ID": "0.0.9001",
        "PUBLIC_URL": PUBLIC_URL,
        "MIRROR_NODE_URL": "http://127.0.0.1:9",
        "DATABASE_URL": url or f"sqlite:///{database}",
        "DATA_DIR": str(database.parent),
        # Counted as ever, and never reached.
        "WRITE_LIMIT": "999999/s",
    }


def create(database: Path, url: str | None = None):
    """The service's application in this process."""
    return create_app(**settings(database, url))


def create_access_tokens(database: Path) -> tuple[str, str]:
    """Real tokens, made as an operator makes them: one that may read, one that may write, too."""
    app = create(database)
    with app.app_context():
        reader = access_tokens.create("reader", ("read",), 86_400)
        seller = access_tokens.create("seller", ("read", "write"), 86_400)
    services(app).database.close()
    return reader, seller
