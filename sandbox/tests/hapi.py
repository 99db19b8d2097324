"""HAPI's messages as an SDK sends them, whatever door they go through."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import NftID
from hiero_sdk_python.hapi.services.query_header_pb2 import ResponseType
from hiero_sdk_python.hapi.services.query_pb2 import Query
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.response_pb2 import Response
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction
from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

from hiero_sandbox import times
from hiero_sandbox.hapi.services import METHODS
from hiero_sandbox.messages import account
from sandbox.tests import bodies
from sandbox.tests.bodies import token_id

COST, PAID = ResponseType.COST_ANSWER, ResponseType.ANSWER_ONLY
APPROVE = "/proto.CryptoService/approveAllowances"
RECEIPTS = "/proto.CryptoService/getTransactionReceipts"
ACCOUNT = "/proto.CryptoService/getAccountInfo"


def answering(app):
    """Have a request answered, at a moment or now."""

    def call(path, content, now=None):
        with app.app_context():
            [response] = METHODS[path](content, now or times.now())
            return response

    return call


def nft_id(token: str, serial_no: int) -> NftID:
    return NftID(token_ID=token_id((token, serial_no)), serial_number=serial_no)


def query(name: str, header=PAID, payment: bytes | None = None, **asked) -> bytes:
    made = Query()
    kind = getattr(made, name)
    kind.SetInParent()
    kind.header.responseType = header
    if payment:
        kind.header.payment.CopyFrom(Transaction.FromString(payment))
    kind.MergeFrom(type(kind)(**asked))
    return made.SerializeToString()


def payment(payer: str, tinybars=100_000, to="0.0.3", node="0.0.3", seconds_ago=1) -> bytes:
    """A signed transfer to the node, as an SDK pays for a query."""
    body = bodies.transfer(payer, {payer: -tinybars, to: tinybars})
    body.nodeAccountID.CopyFrom(account(node))
    body.transactionID.transactionValidStart.seconds += 1 - seconds_ago
    return bodies.sign(body, payer)


def precheck(content: bytes) -> str:
    """The code in the answer to a transaction."""
    return ResponseCodeEnum.Name(
        TransactionResponse.FromString(content).nodeTransactionPrecheckCode
    )


def answer(content: bytes, name: str):
    """The answer to a query, and its code."""
    response = getattr(Response.FromString(content), name)
    return response, ResponseCodeEnum.Name(response.header.nodeTransactionPrecheckCode)
