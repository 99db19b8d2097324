"""One record of a transaction: HAPI answers with it, and the mirror node's row is derived from it."""

from hiero_sandbox.database import read
from hiero_sandbox.ledger import queries
from hiero_sandbox.ledger.envelopes import write_id
from hiero_sandbox.messages import account
from sandbox.tests import bodies, hapi
from sandbox.tests.bodies import HBAR
from sandbox.tests.people import ALICE, BOB


def test_hapi_answers_with_the_record_that_is_stored(submit, ask, ledger):
    body = bodies.transfer(ALICE, {ALICE: -HBAR, BOB: HBAR})
    submit(body, ALICE)
    paid = hapi.payment(ALICE, seconds_ago=9)
    asked = {"transactionID": body.transactionID, "payment": paid}
    answered, code = ask("transactionGetRecord", **asked)
    assert code == "OK"
    record = answered.transactionRecord
    with ledger.sandbox.app_context():
        [row] = queries.select(read(), "transaction_record", hash=record.transactionHash)
    assert row["record"] == record.SerializeToString()
    answered, _ = ask("transactionGetReceipt", transactionID=body.transactionID)
    assert answered.receipt == record.receipt


def test_the_mirror_nodes_row_says_what_the_record_does(submit, ask, rows):
    body = bodies.transfer(ALICE, {ALICE: -HBAR, BOB: HBAR})
    submit(body, ALICE)
    paid = hapi.payment(ALICE, seconds_ago=9)
    answered, _ = ask("transactionGetRecord", transactionID=body.transactionID, payment=paid)
    record, [row] = answered.transactionRecord, rows(body)
    assert row["charged_tx_fee"] == record.transactionFee
    assert {each["account"]: each["amount"] for each in row["transfers"]} == {
        write_id(each.accountID): each.amount for each in record.transferList.accountAmounts
    }
    assert record.transactionID.accountID == account(ALICE)
