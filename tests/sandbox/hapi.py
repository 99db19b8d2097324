"""HAPI's messages as an SDK sends them, whatever door they go through."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountID,
    FileID,
    NftID,
    TokenID,
    TransactionID,
)
from hiero_sdk_python.hapi.services.query_header_pb2 import ResponseType
from hiero_sdk_python.hapi.services.query_pb2 import Query
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.response_pb2 import Response
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction
from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse
from hiero_sdk_python.hbar import Hbar
from hiero_sdk_python.transaction.transfer_transaction import TransferTransaction

from marketplace.ids import TransactionId
from marketplace.sandbox.ledger.envelopes import open_transaction, read_list
from tests.sandbox.test_sandbox_ledger import account, signed

COST, PAID = ResponseType.COST_ANSWER, ResponseType.ANSWER_ONLY
APPROVE = "/proto.CryptoService/approveAllowances"
RECEIPTS = "/proto.CryptoService/getTransactionReceipts"
ACCOUNT = "/proto.CryptoService/getAccountInfo"


def transaction(content: bytes) -> bytes:
    """The one transaction that an SDK sends, without its list."""
    return read_list(content)[0].SerializeToString()


def id_of(content: bytes) -> TransactionId:
    return open_transaction(read_list(content)[0]).id


def account_id(text: str) -> AccountID:
    return AccountID(accountNum=int(text.split(".")[2]))


def nft_id(token: str, serial_no: int) -> NftID:
    return NftID(token_ID=TokenID(tokenNum=int(token.split(".")[2])), serial_number=serial_no)


def file_id(number: int) -> FileID:
    return FileID(fileNum=number)


def transaction_id(id: TransactionId, scheduled=False, nonce=0) -> TransactionID:
    made = TransactionID(accountID=account_id(id.account_id), scheduled=scheduled, nonce=nonce)
    made.transactionValidStart.seconds = id.seconds
    made.transactionValidStart.nanos = id.nanos
    return made


def query(name: str, header=PAID, payment: bytes | None = None, **asked) -> bytes:
    made = Query()
    kind = getattr(made, name)
    kind.SetInParent()
    kind.header.responseType = header
    if payment:
        kind.header.payment.CopyFrom(Transaction.FromString(transaction(payment)))
    kind.MergeFrom(type(kind)(**asked))
    return made.SerializeToString()


def payment(payer: str, tinybars=100_000, to="0.0.3", **options) -> bytes:
    """A signed transfer to the node, as an SDK pays for a query."""
    transfer = TransferTransaction()
    transfer.add_hbar_transfer(account(payer), Hbar.from_tinybars(-tinybars))
    transfer.add_hbar_transfer(account(to), Hbar.from_tinybars(tinybars))
    return signed(transfer, payer, payer=payer, **options)


def precheck(content: bytes) -> str:
    """The code in the answer to a transaction."""
    return ResponseCodeEnum.Name(
        TransactionResponse.FromString(content).nodeTransactionPrecheckCode
    )


def answer(content: bytes, name: str):
    """The answer to a query, and its code."""
    told = getattr(Response.FromString(content), name)
    return told, ResponseCodeEnum.Name(told.header.nodeTransactionPrecheckCode)
