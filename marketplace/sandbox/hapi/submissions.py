"""Submits transactions, and answers with the node's precheck code. Receipts have the result of consensus."""

from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

from marketplace.sandbox.hapi.codes import code, of_faults
from marketplace.sandbox.ledger import consensus, network_fees
from marketplace.sandbox.ledger.envelopes import Unreadable, open_transaction, read_list


def answer(content: bytes, now: int) -> list[bytes]:
    """Submit the bytes of a HAPI Transaction. Answers OK if it reached consensus, successful or not."""
    result = of_faults(lambda: _submit(content, now))
    cost = _price(content) if result == "INSUFFICIENT_TX_FEE" else 0
    response = TransactionResponse(nodeTransactionPrecheckCode=code(result), cost=cost)
    return [response.SerializeToString()]


def _submit(content: bytes, now: int) -> str:
    try:
        receipt = consensus.submit(content, now)
    except Unreadable:
        return "INVALID_TRANSACTION"
    return "OK" if receipt.reached_consensus else receipt.result


def _price(content: bytes) -> int:
    """The fee of a transaction, in tinybars."""
    return network_fees.price(open_transaction(read_list(content)[0]))
