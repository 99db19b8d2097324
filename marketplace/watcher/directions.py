"""Where to look: what follows from a row of the ledger's transactions. Nothing is decided by it."""

from collections.abc import Iterator
from typing import NamedTuple

from marketplace import times
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market.memos import read_named_nft

APPROVALS = ("CRYPTOAPPROVEALLOWANCE", "CRYPTODELETEALLOWANCE")
OF_TOKENS = ("TOKENDELETION", "TOKENFEESCHEDULEUPDATE", "TOKENUPDATE", "TOKENUPDATENFTS")
# For how long facts are looked for that are as new as a row which may not have touched them.
NAMED_NFT = 3600 * times.SECOND
LISTED_NFTS = 60 * times.SECOND


class Look(NamedTuple):
    """What is to be looked at: an NFT, what is stored of a token, or what an account has listed."""

    kind: str  # nft, token or account
    id: str
    serial_no: int  # 0 of a token or an account
    told_at: int  # consensus timestamp
    patience: int | None = None  # nanoseconds; None: the facts must be as new
    delay: int = 0  # nanoseconds

    @property
    def row(self) -> dict:
        """The columns of the table look, all but when it is due."""
        enough_at = None if self.patience is None else times.to_iso(self.told_at + self.patience)
        key = {"kind": self.kind, "id": self.id, "serial_no": self.serial_no}
        return key | {"told_at": times.to_iso(self.told_at), "enough_at": enough_at}


def find_looks(row: Transaction) -> Iterator[Look]:
    """Say where to look after a transaction. One that failed has changed nothing."""
    if row.result != "SUCCESS":
        return
    for moved in row.nft_transfers:
        if moved.serial_no > 0:
            yield Look("nft", moved.token, moved.serial_no, row.consensus_at)
        else:  # all of a treasury's
            yield Look("token", moved.token, 0, row.consensus_at, LISTED_NFTS)
    if row.name in OF_TOKENS and row.entity_id:
        yield Look("token", row.entity_id, 0, row.consensus_at, LISTED_NFTS)
    if row.name in APPROVALS:
        named = read_named_nft(row.memo)
        if named:
            yield Look("nft", *named, row.consensus_at, NAMED_NFT)
        # It may approve others beside the one that it names: rarely, and somebody may list thousands.
        delay = LISTED_NFTS if named else 0
        yield Look("account", row.payer, 0, row.consensus_at, LISTED_NFTS, delay)
