"""Batches and their inner transactions."""

from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction

from hiero_sandbox.ledger import keys
from sandbox.tests import bodies
from sandbox.tests.bodies import HBAR, make, transfer
from sandbox.tests.people import CHARLIE

BATCHER = PrivateKey.generate_ecdsa()  # who puts transactions together
KEY = keys.of_bytes(BATCHER.public_key().to_bytes_raw())


def inner(body, *signers, key=KEY, node=0):
    """The bytes of a transaction that is to be in a batch."""
    body.nodeAccountID.CopyFrom(AccountID(accountNum=node))
    if key:
        body.batch_key.CopyFrom(key)
    return Transaction.FromString(bodies.sign(body, *signers)).signedTransactionBytes


def batch(*contents, payer=CHARLIE):
    return make(payer, "atomic_batch", transactions=contents)


def pay(payer, receiver, hbar):
    return transfer(payer, {payer: -hbar * HBAR, receiver: hbar * HBAR})
