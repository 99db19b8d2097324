"""NFTs of the ledger. One gets a row when somebody first asks for it; the treasury holds all others."""

import base64
from typing import Any, NamedTuple

from hiero_sandbox import catalogue
from hiero_sandbox.database import Connection
from hiero_sandbox.ledger import queries, tokens
from hiero_sandbox.ledger.envelopes import Refused


class Nft(NamedTuple):
    token: str
    serial_no: int
    owner: str = queries.TREASURY
    spender: str | None = None
    created_at: int = catalogue.GENESIS  # nanoseconds
    modified_at: int = catalogue.GENESIS
    metadata: str | None = None  # base64; None: the one in the catalogue
    delegating_spender: str | None = None  # who approved the spender for the owner

    @property
    def metadata_base64(self) -> str:
        if self.metadata is not None:
            return self.metadata
        return base64.b64encode(catalogue.pointer(self.token, self.serial_no).encode()).decode()


def find(db: Connection, token: str, serial_no: int) -> Nft | None:
    row = queries.get(db, "nft", token=token, serial_no=serial_no)
    return Nft(**row) if row else None


def get(db: Connection, token: str, serial_no: int) -> Nft | None:
    """Return an NFT. The treasury owns it if nobody has asked for it yet.

    If a transaction has created the token, its NFTs that were not minted are None.
    """
    found = find(db, token, serial_no)
    definition = tokens.find(db, token)
    return found if found or definition.is_created else Nft(token, serial_no, definition.treasury)


def require(nft: Nft | None) -> Nft:
    """Refuse an NFT that was never minted, or that was burned or wiped."""
    if nft is None or nft.owner == queries.NOBODY:
        raise Refused("INVALID_NFT_ID")
    return nft


def put(db: Connection, nft: Nft, **changes: Any) -> None:
    """Write an NFT with some columns changed."""
    queries.put(db, "nft", **nft._replace(**changes)._asdict())
