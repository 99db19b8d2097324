"""What a node refuses before consensus, with which code, and which of two faults it names."""

import base64
import hashlib

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
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


# HAPI's former form: the body and the signatures in the transaction itself


def former(content, **more):
    """A signed transaction in the form without signedTransactionBytes."""
    signed = SignedTransaction.FromString(Transaction.FromString(content).signedTransactionBytes)
    return Transaction(bodyBytes=signed.bodyBytes, sigMap=signed.sigMap, **more)


def signed_by_payer():
    [payer] = [each for each in known_accounts() if each.account_id == PAYER]
    return sign(pay(), payer.private_key)


def test_the_former_form_is_taken_as_nodes_take_it(alone, code):
    """TransactionChecker: deprecated, supported. The hash is of the whole transaction."""
    content = former(signed_by_payer()).SerializeToString()
    assert code(content) == "OK"
    [row] = alone.get("/transactions").json["transactions"]
    assert (row["result"], row["name"]) == ("SUCCESS", "CRYPTOTRANSFER")
    assert base64.b64decode(row["transaction_hash"]) == hashlib.sha384(content).digest()
    assert code(former(sign(pay(), PrivateKey.generate_ed25519())).SerializeToString()) == (
        "INVALID_SIGNATURE"
    )


def test_the_former_form_is_decoded_and_signed(alone):
    transaction = former(sign(pay()))
    transaction.sigMap.SetInParent()
    for content in (
        transaction.SerializeToString(),
        TransactionList(transaction_list=[transaction]).SerializeToString(),
    ):
        given = {"accountId": PAYER, "transaction": base64.b64encode(content).decode()}
        assert alone.client.post("/decode", json=given).json["payer"] == PAYER
        signed = alone.client.post("/sign", json=given).json["transaction"]
        shown = alone.client.post("/decode", json={"transaction": signed}).json
        assert len(shown["signedBy"]) == 1
    answer = alone.client.post("/transactions", json={"transaction": signed})
    assert answer.json["result"] == "SUCCESS"


def test_both_forms_at_once_are_refused(code):
    content = signed_by_payer()
    signed = Transaction.FromString(content).signedTransactionBytes
    for mixed in (
        former(content, signedTransactionBytes=signed),
        Transaction(signedTransactionBytes=signed, sigMap=former(content).sigMap),
    ):
        assert code(mixed.SerializeToString()) == "INVALID_TRANSACTION"
    alone = Transaction(sigMap=former(content).sigMap)
    assert code(alone.SerializeToString()) == "INVALID_TRANSACTION_BODY"


def test_nobody_chooses_how_a_transaction_is_hashed(code):
    signed = SignedTransaction.FromString(
        Transaction.FromString(signed_by_payer()).signedTransactionBytes
    )
    signed.use_serialized_tx_message_hash_algorithm = True
    content = Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()
    assert code(content) == "INVALID_SERIALIZED_TX_MESSAGE_HASH_ALGORITHM"
