"""Messages of topics of a spec."""

import json

from hiero_sdk_python.hapi.services.basic_types_pb2 import TransactionID
from hiero_sdk_python.hapi.services.consensus_submit_message_pb2 import (
    ConsensusSubmitMessageTransactionBody,
)

from hiero_sandbox.ledger import queries
from hiero_sandbox.storage import Connection
from marketplace.hedera import times
from marketplace.hedera.transactions import make_account_id
from stress.rest.values import Row, read_bytes, to_entity


def load_message(db: Connection, row: Row) -> None:
    submission = ConsensusSubmitMessageTransactionBody(message=_read(row, "message"))
    payer = to_entity(row.get("payer_account_id", 3)) or ""
    if row.get("chunk_num"):
        chunk = submission.chunkInfo
        chunk.number, chunk.total = row["chunk_num"], row["chunk_total"]
        chunk.initialTransactionID.CopyFrom(_read_id(row, payer))
    queries.put(
        db,
        "topic_message",
        topic=to_entity(row["topic_id"]),
        sequence_no=row["sequence_number"],
        consensus_at=int(row["consensus_timestamp"]),
        payer=payer,
        submission=submission.SerializeToString(),
        running_hash=_read(row, "running_hash"),
    )


def _read(row: Row, name: str) -> bytes:
    """A text or bytes. A column that a spec leaves out has its own name."""
    content = row.get(name, name)
    if not isinstance(content, str) and isinstance(content[0], str):
        content = (
            "{" + ",".join(map(json.dumps, content)) + "}"
        )  # an array, as PostgreSQL writes it
    return content.encode() if isinstance(content, str) else read_bytes(content)


def _read_id(row: Row, payer: str) -> TransactionID:
    """The id of the transaction with the first chunk."""
    if content := row.get("initial_transaction_id"):
        return TransactionID.FromString(read_bytes(content))
    seconds, nanos = divmod(int(row["valid_start_timestamp"]), times.SECOND)
    start = {"seconds": seconds, "nanos": nanos}
    return TransactionID(accountID=make_account_id(payer), transactionValidStart=start)
