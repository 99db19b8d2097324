"""HAPI's queries for receipts and records: those that the ledger has stored."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import TransactionID
from hiero_sdk_python.hapi.services.crypto_get_account_records_pb2 import (
    CryptoGetAccountRecordsQuery,
    CryptoGetAccountRecordsResponse,
)
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.transaction_get_receipt_pb2 import (
    TransactionGetReceiptQuery,
    TransactionGetReceiptResponse,
)
from hiero_sdk_python.hapi.services.transaction_get_record_pb2 import (
    TransactionGetRecordQuery,
    TransactionGetRecordResponse,
)
from hiero_sdk_python.hapi.services.transaction_record_pb2 import TransactionRecord

from hiero_sandbox import times
from hiero_sandbox.conditions import conditions
from hiero_sandbox.database import read
from hiero_sandbox.ledger import accounts, queries, records
from hiero_sandbox.ledger.envelopes import read_transaction_id, refuse_if
from hiero_sandbox.ledger.execution import entity
from hiero_sandbox.messages import account

KEPT_SECONDS = 180  # how long after consensus a node has receipts and records


def find_receipt(
    query: TransactionGetReceiptQuery, response: TransactionGetReceiptResponse, now: int
) -> None:
    (first, *repeated), children = _find(query.transactionID, now, "RECEIPT_NOT_FOUND")
    if _is_delayed(first, now):
        response.receipt.status = ResponseCodeEnum.UNKNOWN
        return
    response.receipt.CopyFrom(first.receipt)
    if query.includeDuplicates:
        response.duplicateTransactionReceipts.extend(each.receipt for each in repeated)
    if query.include_child_receipts:
        response.child_transaction_receipts.extend(each.receipt for each in children)


def find_record(
    query: TransactionGetRecordQuery, response: TransactionGetRecordResponse, now: int
) -> None:
    (first, *repeated), children = _find(query.transactionID, now, "RECORD_NOT_FOUND")
    refuse_if(_is_delayed(first, now), "RECORD_NOT_FOUND")
    response.transactionRecord.CopyFrom(first)
    if query.includeDuplicates:
        response.duplicateTransactionRecords.extend(repeated)
    if query.include_child_records:
        response.child_transaction_records.extend(children)


def find_account_records(
    query: CryptoGetAccountRecordsQuery, response: CryptoGetAccountRecordsResponse, now: int
) -> None:
    """The recent transactions that an account has paid for, in the order of consensus."""
    account_id = entity(query.accountID, "INVALID_ACCOUNT_ID")
    accounts.require_usable(read(), account_id)
    response.accountID.CopyFrom(account(account_id))
    rows = queries.list_paid_transactions(read(), account_id, now - KEPT_SECONDS * times.SECOND)
    response.records.extend(records.read(row).record for row in rows)


def _is_delayed(record: TransactionRecord, now: int) -> bool:
    """Whether a test lets the node not know the result yet."""
    delay, moment = conditions().receipt_delay, record.consensusTimestamp
    reached_at = int(moment.seconds) * times.SECOND + int(moment.nanos)
    return delay > 0 and now < reached_at + delay


def _find(
    asked: TransactionID, now: int, missing: str
) -> tuple[list[TransactionRecord], list[TransactionRecord]]:
    """Find the recent records of an id, in the order of consensus, and those of its children.

    Refuses, with the code ``missing``, if there are none.
    """
    refuse_if(not asked.HasField("accountID"), "INVALID_TRANSACTION_ID")
    rows = queries.list_transactions(read(), read_transaction_id(asked).dashed)
    since = now - KEPT_SECONDS * times.SECOND
    recent = [records.read(row).record for row in rows if row["consensus_at"] >= since]
    recent = [each for each in recent if each.transactionID.scheduled == asked.scheduled]
    found = [each for each in recent if each.transactionID.nonce == asked.nonce]
    refuse_if(not found, missing)
    return found, [each for each in recent if each.transactionID.nonce > asked.nonce]
