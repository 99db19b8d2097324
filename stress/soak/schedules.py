"""The schedules on the ledger, read from its own tables: whose sale each is, and how it ended."""

import sqlite3
from typing import NamedTuple

from hiero_sandbox.ledger import records
from hiero_sandbox.ledger.envelopes import write_id
from hiero_sandbox.ledger.schedules import Schedule, read
from marketplace.hedera.hbar import TINYBARS


class Scheduled(NamedTuple):
    """A sale that a bidder has scheduled."""

    offer_id: str
    nft: tuple[str, int]
    seller: str
    bidder: str
    price: int  # HBAR
    share: int  # of the marketplace, in basis points
    end: str  # executed, deleted, expired, or why its execution failed; empty while it is open

    @property
    def token(self) -> str:
        return self.nft[0]

    @property
    def is_open(self) -> bool:
        return not self.end

    @property
    def state(self) -> str:
        """In the words of the service's table."""
        if self.end.startswith("failed"):
            return "failed"
        if not self.end:
            return "open"
        return {"executed": "executed", "deleted": "withdrawn", "expired": "expired"}[self.end]


def list_scheduled(db: sqlite3.Connection, offer_id: str | None = None) -> list[Scheduled]:
    sql = "SELECT * FROM schedule WHERE ? IN (schedule_id, '') ORDER BY created_at"
    return [_read(db, read(row)) for row in db.execute(sql, (offer_id or "",))]


def _read(db: sqlite3.Connection, schedule: Schedule) -> Scheduled:
    sale = schedule.definition.scheduledTransactionBody.cryptoTransfer
    [units] = sale.tokenTransfers
    [moved] = units.nftTransfers
    token = f"{units.token.shardNum}.{units.token.realmNum}.{units.token.tokenNum}"
    seller, bidder = write_id(moved.senderAccountID), write_id(moved.receiverAccountID)
    amounts = {write_id(each.accountID): each.amount for each in sale.transfers.accountAmounts}
    price = -amounts.pop(bidder)
    share = price - amounts.pop(seller, 0)
    return Scheduled(
        schedule.schedule_id,
        (token, moved.serialNumber),
        seller,
        bidder,
        price // TINYBARS,
        share * 10_000 // price,
        _find_end(db, schedule),
    )


def _find_end(db: sqlite3.Connection, schedule: Schedule) -> str:
    if schedule.state != "executed":
        return "" if schedule.state == "open" else schedule.state
    [row] = _list_records(db, schedule.resolved_at)
    result = records.read(row).result
    return "executed" if result == "SUCCESS" else f"failed: {result}"


def _list_records(db: sqlite3.Connection, moment: int | None) -> list[sqlite3.Row]:
    sql = "SELECT * FROM transaction_record WHERE consensus_at = ?"
    return db.execute(sql, (moment,)).fetchall()
