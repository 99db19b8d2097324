"""What a node refuses before consensus."""

import time

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import SignatureMap
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, holds, refused
from hiero_sandbox.conformance.entities import QUARTER, holder, payment
from hiero_sandbox.conformance.network import Account, Network, code_of, envelope, key_of, text

NOBODY = "0.0.4294967295"
TRANSACTION_CHECKER = "TransactionChecker of hiero-consensus-node"
INGEST_CHECKER = "IngestChecker of hiero-consensus-node"
UNKNOWN_FIELD = b"\xc2\x3e\x01\x00"  # number 1000


def pay(network: Network) -> TransactionBody:
    """A transfer of one tinybar, which nothing speaks against."""
    receiver = network.once(holder)
    return payment(network, (network.operator.id, -1), (receiver.id, 1))


@refused("INVALID_SIGNATURE", INGEST_CHECKER, by_node=True)
def a_wrong_signature(network: Network) -> object:
    """The payer's key must have signed."""
    payer = network.once(holder)
    body = payment(network, (network.operator.id, -1), (payer.id, 1), payer=payer.id)
    return body, PrivateKey.generate_ed25519()


@refused("PAYER_ACCOUNT_NOT_FOUND", INGEST_CHECKER, by_node=True)
def a_payer_that_nobody_has(network: Network) -> object:
    """The payer must exist."""
    return payment(network, (NOBODY, -1), (network.operator.id, 1), payer=NOBODY)


@refused("INVALID_NODE_ACCOUNT", INGEST_CHECKER, by_node=True)
def a_client_as_the_node(network: Network) -> object:
    """The body names the node that takes it."""
    body = pay(network)
    body.nodeAccountID.CopyFrom(messages.account(network.operator.id))
    return body


@refused("INVALID_TRANSACTION_START", TRANSACTION_CHECKER, by_node=True)
def a_start_in_the_future(network: Network) -> object:
    """The valid start is not in the future."""
    body = pay(network)
    body.transactionID.transactionValidStart.seconds += 3600
    return body


@refused("TRANSACTION_EXPIRED", TRANSACTION_CHECKER, by_node=True)
def a_start_that_is_over(network: Network) -> object:
    """The valid duration is not over."""
    body = pay(network)
    body.transactionID.transactionValidStart.seconds -= 3600
    return body


@refused("TRANSACTION_EXPIRED", f"{TRANSACTION_CHECKER}; HederaConfig", by_node=True)
def a_start_that_is_over_in_nine_seconds(network: Network) -> object:
    """When a node takes it, a transaction is valid for ten more seconds."""
    body = pay(network)
    body.transactionID.transactionValidStart.seconds = int(time.time()) - 111
    return body


@refused("INVALID_TRANSACTION_DURATION", TRANSACTION_CHECKER, by_node=True)
def a_duration_of_zero(network: Network) -> object:
    """A transaction has a duration."""
    body = pay(network)
    body.transactionValidDuration.seconds = 0
    return body


@refused("INVALID_TRANSACTION_DURATION", TRANSACTION_CHECKER, by_node=True)
def a_duration_of_181_seconds(network: Network) -> object:
    """A transaction is valid for 180 s at most."""
    body = pay(network)
    body.transactionValidDuration.seconds = 181
    return body


@refused("TRANSACTION_ID_FIELD_NOT_ALLOWED", TRANSACTION_CHECKER, by_node=True)
def an_id_with_a_nonce(network: Network) -> object:
    """Only the network gives an id a nonce."""
    body = pay(network)
    body.transactionID.nonce = 1
    return body


@refused("TRANSACTION_ID_FIELD_NOT_ALLOWED", TRANSACTION_CHECKER, by_node=True)
def an_id_that_is_scheduled(network: Network) -> object:
    """Only the network marks an id as scheduled."""
    body = pay(network)
    body.transactionID.scheduled = True
    return body


@refused("MEMO_TOO_LONG", TRANSACTION_CHECKER, by_node=True)
def a_memo_of_101_bytes(network: Network) -> object:
    """A memo has 100 bytes at most, not characters."""
    body = pay(network)
    body.memo = "é" * 50 + "."
    return body


@refused("INVALID_ZERO_BYTE_IN_STRING", TRANSACTION_CHECKER, by_node=True)
def a_memo_with_a_zero_byte(network: Network) -> object:
    """No text holds a zero byte."""
    body = pay(network)
    body.memo = "zero\0"
    return body


@refused("DUPLICATE_TRANSACTION", INGEST_CHECKER, by_node=True)
def a_repetition(network: Network) -> object:
    """A node takes a transaction id once."""
    body = pay(network)
    network.done(body)
    return body


@refused("INVALID_TRANSACTION_BODY", TRANSACTION_CHECKER, by_node=True)
def a_body_without_content(network: Network) -> object:
    """A body has one of its types."""
    body = pay(network)
    body.ClearField("cryptoTransfer")
    return body


def _refused_bytes(network: Network, content: bytes, body: TransactionBody, code: str) -> None:
    equal(network.send(content, body.transactionID).code, code)


@case(TRANSACTION_CHECKER)
def no_bytes(network: Network) -> None:
    """An empty transaction is INVALID_TRANSACTION_BODY."""
    _refused_bytes(network, b"", pay(network), "INVALID_TRANSACTION_BODY")


@case(TRANSACTION_CHECKER)
def an_unknown_field(network: Network) -> None:
    """Fields that HAPI does not have are TRANSACTION_HAS_UNKNOWN_FIELDS."""
    body = pay(network)
    signed = SignedTransaction(
        bodyBytes=body.SerializeToString() + UNKNOWN_FIELD, sigMap=SignatureMap()
    )
    content = Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()
    _refused_bytes(network, content, body, "TRANSACTION_HAS_UNKNOWN_FIELDS")


@case(TRANSACTION_CHECKER)
def no_signature_map(network: Network) -> None:
    """A transaction that nobody has signed, as a wallet receives it, is INVALID_TRANSACTION_BODY."""
    body = pay(network)
    signed = SignedTransaction(bodyBytes=body.SerializeToString())
    content = Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()
    _refused_bytes(network, content, body, "INVALID_TRANSACTION_BODY")


@case("SignatureMap in basic_types.proto; TransactionChecker of hiero-consensus-node")
def two_signatures_of_one_prefix(network: Network) -> None:
    """Signatures whose prefixes begin with each other are KEY_PREFIX_MISMATCH."""
    body, key = pay(network), network.operator
    _refused_bytes(network, envelope(body, key, key), body, "KEY_PREFIX_MISMATCH")


@case("HIP-1300; TransactionChecker of hiero-consensus-node")
def seven_thousand_bytes(network: Network) -> None:
    """A signed transaction has 6,144 bytes at most, unless the network's governance pays for it."""
    payer = network.once(holder)
    contents = bytes(7000)
    body = network.body("fileCreate", payer.id, contents=contents)
    _refused_bytes(network, envelope(body, payer), body, "TRANSACTION_OVERSIZE")


def poor(network: Network) -> Account:
    """An account without HBAR."""
    return network.account()


@refused("INSUFFICIENT_PAYER_BALANCE", "SolvencyPreCheck of hiero-consensus-node", by_node=True)
def a_payer_without_hbar(network: Network) -> object:
    """The payer has what the transaction costs."""
    payer, receiver = network.once(poor), network.once(holder)
    return payment(network, (payer.id, -1), (receiver.id, 1), payer=payer.id), payer


@case("SolvencyPreCheck of hiero-consensus-node; TransactionResponse in transaction_response.proto")
def a_fee_that_is_too_low(network: Network) -> None:
    """What offers too little is INSUFFICIENT_TX_FEE, and the answer names the fee."""
    payer = network.once(poor)
    fields = {"key": key_of(payer.key), "autoRenewPeriod": QUARTER}
    body = network.body("cryptoCreateAccount", payer.id, **fields)
    body.transactionFee = 1
    outcome = network.submit(body, payer)
    equal(outcome.code, "INSUFFICIENT_TX_FEE")
    holds(outcome.cost > 1, f"the answer's cost is {outcome.cost}")


@case("TransactionGetReceiptHandler of hiero-consensus-node")
def a_receipt_of_an_unknown_id(network: Network) -> None:
    """What the node did not take has no receipt."""
    asked = network.free("transactionGetReceipt", transactionID=pay(network).transactionID)
    equal(code_of(asked.header), "RECEIPT_NOT_FOUND")


@case("TransactionGetReceiptHandler of hiero-consensus-node")
def a_receipt_without_an_id(network: Network) -> None:
    """A query for a receipt names a transaction."""
    asked = network.free("transactionGetReceipt")
    equal(code_of(asked.header), "INVALID_TRANSACTION_ID")


@case("CryptoGetAccountInfoHandler of hiero-consensus-node")
def an_account_info(network: Network) -> None:
    """A paid query is answered; that of an unknown account is INVALID_ACCOUNT_ID."""
    account = network.once(holder)
    answer = network.ask("cryptoGetInfo", accountID=messages.account(account.id))
    equal(code_of(answer.header), "OK")
    equal(text(answer.accountInfo.accountID), account.id)
    answer = network.ask("cryptoGetInfo", accountID=messages.account(NOBODY))
    equal(code_of(answer.header), "INVALID_ACCOUNT_ID")
