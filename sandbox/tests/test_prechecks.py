"""What a node refuses before consensus, with which code, and which of two faults it names."""

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction

from hiero_sandbox import times
from hiero_sandbox.hapi.services import submit
from hiero_sandbox.ledger.genesis import known_accounts
from hiero_sandbox.messages import account
from sandbox.tests import hapi
from sandbox.tests.bodies import sign, transfer

PAYER, OTHER = "0.0.1002", "0.0.1003"
UNKNOWN_FIELD = b"\xc2\x3e\x01\x00"  # number 1000


@pytest.fixture
def code(alone):
    """The answer of a node to the bytes of a transaction."""

    def code(content):
        with alone.app.app_context():
            return hapi.precheck(submit(content, times.now())[0])

    return code


def pay(payer=PAYER):
    return transfer(payer, {payer: -1, OTHER: 1})


def changed(**changes):
    body = pay()
    for name, value in changes.items():
        setattr(body, name, value)
    return body


def sent_to(node):
    body = pay()
    body.nodeAccountID.CopyFrom(account(node))
    return body


def of_nobody(**account_id):
    body = pay()
    body.transactionID.accountID.Clear()
    body.transactionID.accountID.MergeFrom(type(body.nodeAccountID)(**account_id))
    return body


def without(name):
    body = pay()
    body.ClearField(name)
    return body


def envelope(body_bytes, more=b""):
    signed = SignedTransaction(bodyBytes=body_bytes, sigMap={}).SerializeToString() + more
    return Transaction(signedTransactionBytes=signed).SerializeToString()


CASES = {
    "an account that nobody has": (lambda: sign(pay("0.0.77777")), "PAYER_ACCOUNT_NOT_FOUND"),
    "no account": (lambda: sign(of_nobody()), "PAYER_ACCOUNT_NOT_FOUND"),
    "an alias": (lambda: sign(of_nobody(alias=b"\1" * 20)), "PAYER_ACCOUNT_NOT_FOUND"),
    "no id": (lambda: sign(without("transactionID")), "INVALID_TRANSACTION_ID"),
    "no type": (lambda: sign(without("cryptoTransfer")), "INVALID_TRANSACTION_BODY"),
    "no bytes": (lambda: b"", "INVALID_TRANSACTION_BODY"),
    "no transaction": (lambda: b"\xff", "INVALID_TRANSACTION"),
    "no body": (lambda: envelope(b"\xff"), "INVALID_TRANSACTION_BODY"),
    "a client as a node": (lambda: sign(sent_to(PAYER)), "INVALID_NODE_ACCOUNT"),
    "no node": (lambda: sign(without("nodeAccountID")), "INVALID_NODE_ACCOUNT"),
    "an unknown field": (
        lambda: envelope(pay().SerializeToString() + UNKNOWN_FIELD),
        "TRANSACTION_HAS_UNKNOWN_FIELDS",
    ),
    "an unknown field around the body": (
        lambda: envelope(pay().SerializeToString(), UNKNOWN_FIELD),
        "TRANSACTION_HAS_UNKNOWN_FIELDS",
    ),
    "an unknown field of the envelope": (
        lambda: sign(pay()) + UNKNOWN_FIELD,
        "TRANSACTION_HAS_UNKNOWN_FIELDS",
    ),
    "a wrong signature and too low a fee": (
        lambda: sign(changed(transactionFee=1), PrivateKey.generate_ed25519()),
        "INVALID_SIGNATURE",
    ),
    "a wrong signature and wrong amounts": (
        lambda: sign(transfer(PAYER, {PAYER: -1, OTHER: 2})),
        "INVALID_ACCOUNT_AMOUNTS",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_node_refuses(code, case):
    make, expected = CASES[case]
    assert code(make()) == expected


def test_what_is_read_of_a_nested_message_counts_too(code):
    body = pay()
    nested = body.cryptoTransfer.SerializeToString() + UNKNOWN_FIELD
    body.ClearField("cryptoTransfer")
    content = body.SerializeToString() + b"\x72" + bytes([len(nested)]) + nested  # field 14
    assert code(envelope(content)) == "TRANSACTION_HAS_UNKNOWN_FIELDS"


def test_any_node_of_the_networks_may_be_named(code):
    [payer] = [each for each in known_accounts() if each.account_id == PAYER]
    for node in ("0.0.3", "0.0.42"):
        body = sent_to(node)
        body.transactionID.transactionValidStart.seconds -= int(node[4:])
        assert code(sign(body, payer.private_key)) == "OK"
