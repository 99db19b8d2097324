"""HAPI's queries: their costs, their payment, and the table of those that are answered.

A transaction in the query's header pays for the answer. It is submitted like any other, before the answer is
looked for. COST_ANSWER asks for the cost only. Source: hiero-consensus-node, QueryWorkflowImpl and
QueryChecker.
"""

from collections.abc import Callable
from typing import NamedTuple

from google.protobuf.message import DecodeError, Message
from hiero_sdk_python.hapi.services.query_header_pb2 import QueryHeader, ResponseType
from hiero_sdk_python.hapi.services.query_pb2 import Query
from hiero_sdk_python.hapi.services.response_pb2 import Response

from marketplace.sandbox.hapi import entities, network, receipts
from marketplace.sandbox.hapi.codes import code, of_faults
from marketplace.sandbox.ledger import consensus
from marketplace.sandbox.ledger.envelopes import Refused, Unreadable, open_transaction, refuse_if
from marketplace.sandbox.ledger.network_fees import TINYBARS_PER_DOLLAR

# $0.0001, and what a version costs: https://docs.hedera.com/networks/fees
FEE = TINYBARS_PER_DOLLAR // 10_000
VERSION_FEE = TINYBARS_PER_DOLLAR // 1_000


class Handler(NamedTuple):
    """Answers one type of query: its cost in tinybars, and what finds the answer.

    ``find(query, response, now)`` fills in the answer, or raises Refused.
    """

    fee: int
    find: Callable[[Message, Message, int], None]


HANDLERS = {
    "transactionGetReceipt": Handler(0, receipts.find_receipt),
    "transactionGetRecord": Handler(FEE, receipts.find_record),
    "cryptogetAccountBalance": Handler(0, entities.find_balance),
    "cryptoGetInfo": Handler(FEE, entities.find_account),
    "tokenGetInfo": Handler(FEE, entities.find_token),
    "tokenGetNftInfo": Handler(FEE, entities.find_nft),
    "fileGetContents": Handler(FEE, network.find_file),
    "scheduleGetInfo": Handler(FEE, entities.find_schedule),
    "networkGetVersionInfo": Handler(VERSION_FEE, network.find_version),
}
# The two queries whose answers have another name.
ANSWERED_AS = {
    "contractGetBytecode": "contractGetBytecodeResponse",
    "ContractGetRecords": "contractGetRecordsResponse",
}


def answer(content: bytes, now: int) -> list[bytes]:
    """Answer the bytes of a HAPI Query. Raises DecodeError: gRPC's INVALID_ARGUMENT, as on a node."""
    try:
        envelope = Query.FromString(content)
    except DecodeError:
        raise DecodeError("not the bytes of a query") from None
    name = envelope.WhichOneof("query")
    if name is None:
        raise DecodeError("a query that asks for nothing known")
    query, whole = getattr(envelope, name), Response()
    response = getattr(whole, ANSWERED_AS.get(name, name))
    result = of_faults(lambda: _answer(name, query, response, now))
    response.header.responseType = query.header.responseType
    response.header.nodeTransactionPrecheckCode = code(result)
    if result != "OK":
        response.CopyFrom(type(response)(header=response.header))  # drops a partial answer
    return [whole.SerializeToString()]


def _answer(name: str, query: Message, response: Message, now: int) -> str:
    kind = query.header.responseType
    is_known = kind in (ResponseType.ANSWER_ONLY, ResponseType.COST_ANSWER)
    refuse_if(name not in HANDLERS or not is_known, "NOT_SUPPORTED")
    handler = HANDLERS[name]
    if kind == ResponseType.ANSWER_ONLY and handler.fee:
        _charge(query.header, handler.fee, now)
    handler.find(query, response, now)
    if kind == ResponseType.COST_ANSWER:
        response.CopyFrom(type(response)())
        response.header.cost = handler.fee
    return "OK"


def _charge(header: QueryHeader, fee: int, now: int) -> None:
    """Submit a query's payment: a transfer of at least its fee to the node."""
    try:
        body = open_transaction(header.payment).body
    except Unreadable:
        raise Refused("INVALID_TRANSACTION_BODY") from None
    refuse_if(body.WhichOneof("data") != "cryptoTransfer", "INSUFFICIENT_TX_FEE")
    received = [
        amount.amount
        for amount in body.cryptoTransfer.transfers.accountAmounts
        if amount.accountID == body.nodeAccountID and amount.amount >= 0
    ]
    refuse_if(not received, "INVALID_RECEIVING_NODE_ACCOUNT")
    refuse_if(min(received) < fee, "INSUFFICIENT_TX_FEE")
    receipt = consensus.submit(header.payment.SerializeToString(), now)
    refuse_if(receipt.result != "SUCCESS", receipt.result)
