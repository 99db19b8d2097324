"""NFTs of the ledger. One gets a row when somebody first asks for it; the treasury holds all others."""

from typing import Any, NamedTuple

from hiero_sandbox import times
from hiero_sandbox.database import Connection
from hiero_sandbox.ledger import queries, tokens
from hiero_sandbox.ledger.envelopes import Refused


class Nft(NamedTuple):
    token: str
    serial_no: int
    owner: str = queries.TREASURY
    spender: str | None = None
    created_at: int = times.GENESIS  # nanoseconds
    modified_at: int = times.GENESIS
    metadata: str = ""  # base64
    delegating_spender: str | None = None  # who approved the spender for the owner


def find(db: Connection, token: str, serial_no: int) -> Nft | None:
    row = queries.get(db, "nft", token=token, serial_no=serial_no)
    return Nft(**row) if row else None


def get(db: Connection, token: str, serial_no: int) -> Nft | None:
    """Return an NFT. The treasury owns it if nobody has asked for it yet.

    If a transaction has created the token, its NFTs that were not minted are None.
    """
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
