"""POST /sandbox/decode shows a transaction to the people who are about to sign it."""

import base64

import pytest
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from hiero_sandbox.ids import TransactionId
from hiero_sandbox.messages import account, timestamp
from hiero_sandbox.wallet import add_signature
from sandbox.tests.answers import assert_error
from sandbox.tests.bodies import NFT, approval, seal, transfer, withdrawal
from sandbox.tests.people import ALICE, BOB, TOKEN, private_key
from sandbox.tests.sdk import approval_of_sdk, of_sdk

START = TransactionId(ALICE, 1_763_640_000, 123_456_789)


@pytest.fixture
def decode(app):
    def decode(content):
        transaction = base64.b64encode(content).decode()
        return app.test_client().post("/decode", json={"transaction": transaction})

    return decode


def listing(node="0.0.3"):
    """An approval that nobody has signed, for one node."""
    body = approval(ALICE, memo="Listing")
    body.transactionID.transactionValidStart.CopyFrom(timestamp(START.valid_start))
    body.transactionValidDuration.seconds = 180
    body.nodeAccountID.CopyFrom(account(node))
    return TransactionList(
        transaction_list=[Transaction.FromString(seal(body))]
    ).SerializeToString()


def test_it_works(decode):
    content = listing()
    assert decode(content).json == {
        "type": "CRYPTOAPPROVEALLOWANCE",
        "payer": ALICE,
        "transactionId": str(START),
        "validFrom": "2025-11-20T12:00:00.123456789Z",
        "validUntil": "2025-11-20T12:03:00.123456789Z",
        "validSeconds": 180,
        "memo": "Listing",
        "maxFeeTinybars": 500_000_000,
        "nodeAccountIds": ["0.0.3"],
        "sizeBytes": len(content),
        "signedBy": [],
        "approvals": [
            {
                "tokenId": TOKEN,
                "serialNumbers": [7],
                "owner": ALICE,
                "spender": "0.0.9001",
                "approvedForAll": None,
            }
        ],
        "deletedApprovals": [],
        "hbarTransfers": [],
        "nftTransfers": [],
    }


def test_it_handles_several_nodes_and_signatures(decode):
    doc = decode(add_signature(private_key(ALICE), listing("0.0.3") + listing("0.0.4"))).json
    assert doc["nodeAccountIds"] == ["0.0.3", "0.0.4"]
    assert doc["signedBy"] == [private_key(ALICE).public_key().to_bytes_raw().hex()]


def test_it_shows_the_trap_of_the_python_sdk(decode):
    [shown] = decode(of_sdk(approval_of_sdk(7))).json["approvals"]
    assert (shown["approvedForAll"], shown["serialNumbers"]) == (False, [7])
    [shown] = decode(of_sdk(approval_of_sdk())).json["approvals"]
    assert (shown["approvedForAll"], shown["serialNumbers"]) == (True, [])


def test_it_shows_a_purchase(decode):
    hbar = {BOB: -25_000_000_000, ALICE: 25_000_000_000}
    doc = decode(seal(transfer("0.0.9001", hbar, [(NFT, ALICE, BOB, True)]))).json
    assert (doc["type"], doc["payer"], doc["approvals"]) == ("CRYPTOTRANSFER", "0.0.9001", [])
    assert doc["hbarTransfers"] == [
        {"accountId": BOB, "amount": -25_000_000_000},
        {"accountId": ALICE, "amount": 25_000_000_000},
    ]
    assert doc["nftTransfers"] == [
        {
            "tokenId": TOKEN,
            "serialNumber": 7,
            "sender": ALICE,
            "receiver": BOB,
            "isApproval": True,
        }
    ]


def test_it_shows_a_withdrawal(decode):
    doc = decode(seal(withdrawal(ALICE, NFT))).json
    assert doc["type"] == "CRYPTODELETEALLOWANCE"
    assert doc["deletedApprovals"] == [{"tokenId": TOKEN, "serialNumbers": [7], "owner": ALICE}]


def wrapped(*bodies):
    return TransactionList(
        transaction_list=[
            Transaction(
                signedTransactionBytes=SignedTransaction(bodyBytes=body).SerializeToString()
            )
            for body in bodies
        ]
    ).SerializeToString()


@pytest.mark.parametrize("seconds", [-1, 2**63 - 1])
def test_it_handles_what_is_no_date(decode, seconds):
    body = TransactionBody(memo="é")
    body.transactionID.transactionValidStart.seconds = seconds
    body.transactionValidDuration.seconds = 2**63 - 1
    r = decode(wrapped(body.SerializeToString()))
    assert r.status_code == 200
    assert (r.json["type"], r.json["validFrom"], r.json["validUntil"]) == (None, None, None)


def test_it_rejects_a_list_whose_second_transaction_is_unreadable(decode):
    body = TransactionBody()
    body.transactionID.accountID.accountNum = 1001
    content = wrapped(body.SerializeToString(), b"\xff")
    assert_error(decode(content), 422, "transaction must be base64 of a transaction's bytes")
