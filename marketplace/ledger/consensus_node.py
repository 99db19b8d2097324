"""Submits transactions to a consensus node, over gRPC: HAPI, as Hedera SDKs speak it.

The first call imports gRPC and hiero-sdk-python, so that only processes that submit load them, and only after
their fork. Each call opens its own connection: a lasting one would not survive a fork.

Like SDKs' connections, it is not encrypted. The transaction is signed, and soon public. A node's answer
proves nothing, so only the mirror node's answer decides a transaction's outcome.
"""

from marketplace.ledger.http import Deadline

CONNECT_SECONDS = 1.5
ANSWER_SECONDS = 3.0
TLS_PORT = 50212  # of every node; other ports take unencrypted connections

# The services and methods of HAPI that take each kind of transaction.
METHODS = {
    "cryptoTransfer": "CryptoService/cryptoTransfer",
    "cryptoApproveAllowance": "CryptoService/approveAllowances",
    "cryptoDeleteAllowance": "CryptoService/deleteAllowances",
    "scheduleCreate": "ScheduleService/createSchedule",
    "scheduleSign": "ScheduleService/signSchedule",
    "scheduleDelete": "ScheduleService/deleteSchedule",
}


class NodeUnreachable(Exception):
    """No connection to the node: it did not receive the transaction."""


class NodeSilent(Exception):
    """The node did not answer: it may have received the transaction."""


def send(address: str, transaction: bytes, deadline: Deadline) -> str:
    """Submit the bytes of a HAPI Transaction, and return the node's precheck code: OK, BUSY, ...

    Raises NodeUnreachable or NodeSilent.
    """
    import grpc

    from marketplace.hedera import signed

    kind = signed.find_kind(signed.read(transaction).body)
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(address, options) as channel:
        try:
            connect_seconds = min(CONNECT_SECONDS, deadline.left)
            grpc.channel_ready_future(channel).result(connect_seconds)
        except grpc.FutureTimeoutError:
            raise NodeUnreachable(address) from None
        call = channel.unary_unary(f"/proto.{METHODS[kind]}")
        try:
            answer = call(transaction, timeout=min(ANSWER_SECONDS, deadline.left))
        except grpc.RpcError as error:
            raise NodeSilent(f"{address}: {error.code().name}") from None
    return read_code(answer)


def read_code(response: bytes) -> str:
    """Read the precheck code of a HAPI TransactionResponse. Returns the number of an unknown code."""
    from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
    from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

    code = TransactionResponse.FromString(response).nodeTransactionPrecheckCode
    known = ResponseCodeEnum.DESCRIPTOR.values_by_number.get(code)
    return str(known.name if known else code)
