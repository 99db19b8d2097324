"""The service's settings and access tokens for a measurement, in this process and in servers."""

from pathlib import Path

from benchmarks import mirror
from marketplace import create_app
from marketplace.services import services
from marketplace.store import access_tokens

PUBLIC_URL = "https://nft.example.com"


def settings(database: Path, url: str | None = None) -> dict[str, str]:
    """Settings as on a real network, with a mirror node of this process. ``url`` leads to PostgreSQL."""
    return {
        "NETWORK": "testnet",
        "ACCOUNT_ID": "0.0.9001",
        "PUBLIC_URL": PUBLIC_URL,
        "MIRROR_NODE_URL": mirror.start(),
        "DATABASE_URL": url or f"sqlite:///{database}",
        "DATA_DIR": str(database.parent),
        # Requests are counted as usual, and the limit is never reached.
        "WRITE_LIMIT": "999999/s",
        "STOREFRONT": "on",
        "WALLETCONNECT_PROJECT_ID": "shop",
    }


def create(database: Path, url: str | None = None):
    """The service's application in this process."""
    return create_app(**settings(database, url))


def create_access_tokens(database: Path, url: str | None = None) -> tuple[str, str]:
    """Make tokens as an operator does: one that may read, and one that may also write."""
    app = create(database, url)
    with app.app_context():
        reader = access_tokens.create("reader", ("read",), 86_400)
        seller = access_tokens.create("seller", ("read", "write"), 86_400)
    services(app).database.close()
    return reader, seller
