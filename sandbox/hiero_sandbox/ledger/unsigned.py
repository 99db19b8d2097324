"""What nobody signs and nobody pays for: rewards of staking, and the faucet."""

from collections import Counter

from hiero_sdk_python.hapi.services.basic_types_pb2 import TransactionID
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import accounts, genesis, queries, records
from hiero_sandbox.ledger.consensus import NODE, Ledger, Receipt
from hiero_sandbox.ledger.envelopes import Refused, Signed
from hiero_sandbox.ledger.execution import Execution
from hiero_sandbox.messages import account, timestamp
from hiero_sandbox.storage import Connection
from hiero_sandbox.versions import set_clock


def begin(db: Connection, payer: str, now: int, kind: str) -> Execution:
    """An empty transaction of a type, with nobody's signature and no fee."""
    id = TransactionID(accountID=account(payer), transactionValidStart=timestamp(now))
    body = TransactionBody(
        transactionID=id,
        nodeAccountID=account("0.0.3"),
        transactionValidDuration={"seconds": 120},
    )
    getattr(body, kind).SetInParent()
    return Execution(db, NODE, Signed(body, b"", pairs=[], size=0, hash=b""), now, fee=0)


def add_reward(ledger: Ledger, account_id: str, amount: int, now: int) -> int:
    """Let an account have earned a staking reward, in tinybars. Returns all that is not paid yet."""
    with ledger.write() as db:
        set_clock(db, now)
        pending = min(accounts.get(db, account_id).pending_reward + amount, MAX_INT64)
        accounts.change(db, account_id, now, pending_reward=pending)
    return pending


def give(ledger: Ledger, account_id: str, amount: int, now: int) -> Receipt:
    """Move tinybars of the operator to another account."""
    changes = Counter[tuple[str, str | None]]({(genesis.OPERATOR, None): -amount})
    changes[account_id, None] += amount
    try:
        with ledger.write() as db:
            now = max(now, queries.get_last_consensus(db) + 1)
            set_clock(db, now)
            transfer = begin(db, genesis.OPERATOR, now, "cryptoTransfer")
            transfer.move(changes)
            records.write(transfer)
    except Refused as refusal:
        return Receipt(str(transfer.id), str(refusal), reached_consensus=False)
    return Receipt(str(transfer.id), "SUCCESS")
