"""The schedules on the ledger, read from its own tables: whose sale each is, who has signed, how it ended."""

import sqlite3
from typing import NamedTuple

from hiero_sandbox.ledger import records
from hiero_sandbox.ledger.envelopes import write_id
from hiero_sandbox.ledger.schedules import Schedule, read
from marketplace.hedera.hbar import TINYBARS


class Scheduled(NamedTuple):
    """A sale that the marketplace has scheduled."""

    offer_id: str
    nft: tuple[str, int]
    seller: str
    bidder: str
    price: int  # HBAR
    share: int  # of the marketplace, in basis points
    end: str  # executed, deleted, expired, or why its execution failed; empty while it is open
    is_signed: bool  # whether the bidder has paid for a signature

    @property
    def token(self) -> str:
        return self.nft[0]

    @property
    def is_open(self) -> bool:
        return self.is_signed and not self.end

    @property
    def state(self) -> str:
        """In the words of the service's table."""
        if self.end.startswith("failed"):
            return "failed"
        if not self.end:
            return "signed" if self.is_signed else "unsigned"
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
        bidder in _list_payers(db, schedule.schedule_id),
    )


def _find_end(db: sqlite3.Connection, schedule: Schedule) -> str:
    if schedule.state != "executed":
        return "" if schedule.state == "open" else schedule.state
    [row] = _list_records(db, schedule.resolved_at)
    result = records.read(row).result
    return "executed" if result == "SUCCESS" else f"failed: {result}"


def _list_payers(db: sqlite3.Connection, offer_id: str) -> set[str]:
    """Who has paid for a transaction that signed it."""
    sql = "SELECT DISTINCT consensus_at FROM schedule_signature WHERE schedule_id = ?"
    moments = [row["consensus_at"] for row in db.execute(sql, (offer_id,)).fetchall()]
    found = [records.read(row) for moment in moments for row in _list_records(db, moment)]
    signed = [each for each in found if each.kind == "scheduleSign"]
    return {write_id(each.record.transactionID.accountID) for each in signed}


def _list_records(db: sqlite3.Connection, moment: int | None) -> list[sqlite3.Row]:
    sql = "SELECT * FROM transaction_record WHERE consensus_at = ?"
    return db.execute(sql, (moment,)).fetchall()
