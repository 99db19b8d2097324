"""HAPI's methods by path, such as /proto.CryptoService/approveAllowances: transactions, and queries.

The services are those of the SDK's own descriptors. A node looks at the content of a request, not at its
method. So one function answers all methods that take a transaction, and one all that take a query.

A transaction in a query's header pays for the answer. It is submitted like any other, before the query is
executed. COST_ANSWER asks for the cost only. Source: hiero-consensus-node, QueryWorkflowImpl and
QueryChecker.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from importlib import import_module
from typing import Any, NamedTuple

from flask import current_app
from google.protobuf.message import DecodeError
from grpc import StatusCode
from hiero_sdk_python.hapi.services.query_header_pb2 import QueryHeader, ResponseType
from hiero_sdk_python.hapi.services.query_pb2 import Query
from hiero_sdk_python.hapi.services.response_pb2 import Response
from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

from hiero_sandbox import node
from hiero_sandbox.conditions import NODE_BUSY, NODE_UNAVAILABLE, conditions
from hiero_sandbox.database import read
from hiero_sandbox.errors import LedgerBusy, LedgerUnusable, explained
from hiero_sandbox.hapi import entities, files, network, receipts, topics
from hiero_sandbox.hapi.errors import Failed
from hiero_sandbox.ledger import consensus, network_fees
from hiero_sandbox.ledger.envelopes import (
    Refused,
    Unreadable,
    open_transaction,
    read_list,
    refuse_if,
)

# As much as the largest transaction. One that is too large for its payer gets the network's result code, and
# larger requests are not read.
MAX_REQUEST_BYTES = consensus.MAX_GOVERNANCE_BYTES + 1024
# $0.0001, and $0.001 for the version: https://docs.hedera.com/networks/fees
FREE, FEE, VERSION_FEE = Decimal(0), Decimal("0.0001"), Decimal("0.001")


def _explain_faults(work: Callable[[], str]) -> str:
    """Do the work, and return its result code, or the code of the refusal or fault that stopped it.

    An SDK repeats its request after BUSY, and asks another node after PLATFORM_NOT_ACTIVE, and after
    gRPC's own UNAVAILABLE, which is raised as Failed.
    """
    if conditions().take(NODE_UNAVAILABLE):
        raise Failed(StatusCode.UNAVAILABLE, "A test has asked for this")
    if conditions().take(NODE_BUSY):
        return "BUSY"
    try:
        with explained():
            return work()
    except Refused as refusal:
        return str(refusal)
    except LedgerBusy:
        return "BUSY"
    except (LedgerUnusable, OSError) as error:
        current_app.logger.warning("The sandbox's ledger cannot be used: %s", error)
        return "PLATFORM_NOT_ACTIVE"
    except Exception:
        current_app.logger.exception("A HAPI request failed")
        return "FAIL_INVALID"


# Transactions


def submit(content: bytes, now: int) -> list[bytes]:
    """Submit the bytes of a HAPI Transaction, and answer with the precheck code. The receipt has the result.

    OK means that it reached consensus, successful or not.
    """
    result = _explain_faults(lambda: _submit(content, now))
    response = TransactionResponse(nodeTransactionPrecheckCode=result)
    if result == "INSUFFICIENT_TX_FEE":
        signed = open_transaction(read_list(content)[0])
        fee = consensus.NODE.fee_of(signed.body)
        response.cost = network_fees.price(read(), fee, signed)
    return [response.SerializeToString()]


def _submit(content: bytes, now: int) -> str:
    try:
        receipt = node.submit(content, now)
    except Unreadable as error:
        return error.code
    return "OK" if receipt.reached_consensus else receipt.result


# Queries


class Handler(NamedTuple):
    """Answers one type of query, for a fee in USD.

    ``find(query, response, now)`` fills in the answer, or raises Refused.
    """

    fee: Decimal
    find: Callable[[Any, Any, int], None]


QUERIES = {
    "transactionGetReceipt": Handler(FREE, receipts.find_receipt),
    "transactionGetRecord": Handler(FEE, receipts.find_record),
    "cryptoGetAccountRecords": Handler(FEE, receipts.find_account_records),
    "cryptogetAccountBalance": Handler(FREE, entities.find_balance),
    "cryptoGetInfo": Handler(FEE, entities.find_account),
    "tokenGetInfo": Handler(FEE, entities.find_token),
    "tokenGetNftInfo": Handler(FEE, entities.find_nft),
    "consensusGetTopicInfo": Handler(FEE, topics.find_topic),
    "fileGetContents": Handler(FEE, files.find_contents),
    "fileGetInfo": Handler(FEE, files.find_info),
    "scheduleGetInfo": Handler(FEE, entities.find_schedule),
    "networkGetVersionInfo": Handler(VERSION_FEE, network.find_version),
}
# Two queries and their answers have different names.
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
        raise DecodeError("not a known type of query")
    query, whole = getattr(envelope, name), Response()
    response = getattr(whole, ANSWERED_AS.get(name, name))
    result = _explain_faults(lambda: _answer(name, query, response, now))
    response.header.responseType = query.header.responseType
    response.header.nodeTransactionPrecheckCode = result
    if result != "OK":
        response.CopyFrom(type(response)(header=response.header))  # drops a partial answer
    return [whole.SerializeToString()]


def _answer(name: str, query: Any, response: Any, now: int) -> str:
    kind = query.header.responseType
    is_known = kind in (ResponseType.ANSWER_ONLY, ResponseType.COST_ANSWER)
    refuse_if(name not in QUERIES or not is_known, "NOT_SUPPORTED")
    handler = QUERIES[name]
    node.end_expired_schedules(now)
    fee = network_fees.tinybars(read(), handler.fee)
    if kind == ResponseType.ANSWER_ONLY and fee:
        _charge(query.header, fee, now)
    handler.find(query, response, now)
    if kind == ResponseType.COST_ANSWER:
        response.CopyFrom(type(response)())
        response.header.cost = fee
    return "OK"


def _charge(header: QueryHeader, fee: int, now: int) -> None:
    """Submit a query's payment: a transfer of at least its fee to the node."""
    try:
        signed = open_transaction(header.payment)
    except Unreadable as error:
        raise Refused(error.code) from None
    if network_fees.is_superuser(signed):
        return node.check(signed, now)  # superusers pay for no query
    body = signed.body
    refuse_if(body.WhichOneof("data") != "cryptoTransfer", "INSUFFICIENT_TX_FEE")
    received = [
        amount.amount
        for amount in body.cryptoTransfer.transfers.accountAmounts
        if amount.accountID == body.nodeAccountID and amount.amount >= 0
    ]
    refuse_if(not received, "INVALID_RECEIVING_NODE_ACCOUNT")
    refuse_if(min(received) < fee, "INSUFFICIENT_TX_FEE")
    receipt = node.submit(header.payment.SerializeToString(), now)
    refuse_if(receipt.result != "SUCCESS", receipt.result)


# All methods

# What no handler executes, such as a freeze of the network, is NOT_SUPPORTED.
SERVICES = (
    "address_book", "consensus", "crypto", "file", "freeze", "network", "schedule", "smart_contract",
    "token", "util",
)  # fmt: skip
MODULES = [import_module(f"hiero_sdk_python.hapi.services.{name}_service_pb2") for name in SERVICES]
MIRRORS = ("mirror_network", "consensus")
MODULES += [import_module(f"hiero_sdk_python.hapi.mirror.{name}_service_pb2") for name in MIRRORS]
# ``answer(content, now)`` takes the bytes of a request and the time in nanoseconds. It returns the messages
# of the answer: one, unless the method is a stream. Raises DecodeError.
Answer = Callable[[bytes, int], list[bytes]]
# ``subscribe(content, now)`` returns the messages of a stream that goes on, step by step. Raises DecodeError
# and Failed.
Subscribe = Callable[[bytes, int], Iterator[list[bytes]]]
# By the type of message that a method takes.
ANSWERS: dict[str, Answer] = {
    "proto.Transaction": submit,
    "proto.Query": answer,
    "com.hedera.mirror.api.proto.AddressBookQuery": network.list_nodes,
}
SUBSCRIPTIONS: dict[str, Subscribe] = {
    "/com.hedera.mirror.api.proto.ConsensusService/subscribeTopic": topics.subscribe
}
METHODS = {
    f"/{service.full_name}/{method.name}": ANSWERS[method.input_type.full_name]
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if method.input_type.full_name in ANSWERS
}
