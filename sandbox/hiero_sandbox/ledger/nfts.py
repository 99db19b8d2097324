"""NFTs of the ledger. One that only the world has gets a row when it first changes."""

from typing import Any, NamedTuple

from hiero_sandbox import times
from hiero_sandbox.ledger import queries, tokens
from hiero_sandbox.ledger.envelopes import Refused
from hiero_sandbox.storage import Connection


class Nft(NamedTuple):
    token: str
    serial_no: int
    owner: str
    spender: str | None = None
    created_at: int = times.GENESIS  # nanoseconds
    modified_at: int = times.GENESIS
    metadata: str = ""  # base64
    delegating_spender: str | None = None  # who approved the spender for the owner


def find(db: Connection, token: str, serial_no: int) -> Nft | None:
    row = queries.get(db, "nft", token=token, serial_no=serial_no)
    return Nft(**row) if row else None


def get(db: Connection, token: str, serial_no: int) -> Nft | None:
    """Return an NFT, or None if it was not minted. Of a token that only the world has, every NFT exists."""
    found = find(db, token, serial_no)
    definition = tokens.find(db, token)
    if found or definition.is_created:
        return found
    metadata = db.world.find_metadata(token, serial_no)
    return Nft(token, serial_no, definition.treasury, metadata=metadata)


def require(nft: Nft | None) -> Nft:
    """Refuse an NFT that was never minted, or that was burned or wiped."""
    if nft is None or nft.owner == queries.NOBODY:
        raise Refused("INVALID_NFT_ID")
    return nft


def put(db: Connection, nft: Nft, **changes: Any) -> None:
    """Write an NFT with some columns changed."""
    queries.put(db, "nft", **nft._replace(**changes)._asdict())
