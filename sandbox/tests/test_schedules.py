"""Schedules, HIP-423: executed when all have signed who must, or when they expire."""

import base64

import pytest
from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction

from hiero_sandbox import times
from hiero_sandbox.database import write
from hiero_sandbox.ledger import keys, schedules
from hiero_sandbox.messages import account, schedule
from sandbox.tests import hapi
from sandbox.tests.account_deletion import deletion
from sandbox.tests.accounts import address, creation, public, to_alias
from sandbox.tests.batches import BATCHER, batch, inner
from sandbox.tests.bodies import HBAR, make, minting, sign, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE, public_key
from sandbox.tests.schedules import about, creation_of, payment
from sandbox.tests.tokens import ISSUER, TREASURY
from sandbox.tests.tokens import creation as token_creation

RECORDS = "/proto.CryptoService/getTxRecordByTxID"
DAY = 24 * 3600
SIGNERS = [
    PrivateKey.generate_ed25519(),
    PrivateKey.generate_ecdsa(),
    PrivateKey.generate_ed25519(),
]
PUBLIC = [public(key) for key in SIGNERS]
ADMIN = PrivateKey.generate_ed25519()


def raw(key):
    return key.public_key().to_bytes_raw()


def now():
    return times.now() // times.SECOND


@pytest.fixture
def signing(submit):
    """Sign a schedule; returns the result."""
    return lambda schedule_id, *signers: (
        submit(about("scheduleSign", schedule_id), CHARLIE, *signers).result
    )


@pytest.fixture
def executed(get):
    return lambda schedule_id: get(f"/schedules/{schedule_id}")["executed_timestamp"]


@pytest.fixture
def rows_of(get):
    return lambda row: get(f"/transactions/{row['transaction_id']}")["transactions"]


@pytest.fixture
def joint(created):
    """An account of which two of three keys must sign."""
    key = Key(thresholdKey={"threshold": 2, "keys": {"keys": PUBLIC}})
    return created(creation(key=key, initialBalance=9 * HBAR), ALICE)


def test_it_waits_until_all_have_signed(done, signing, executed, joint, balance, rows_of, get):
    row = done(creation_of(payment(4 * HBAR, joint), memo="rent"), CHARLIE)
    assert (row["name"], row["charged_tx_fee"]) == ("SCHEDULECREATE", HBAR // 10)
    made = row["entity_id"]
    assert signing(made, SIGNERS[0]) == "SUCCESS"
    assert (executed(made), balance(joint)) == (None, 9 * HBAR)
    assert signing(made, SIGNERS[0]) == "NO_NEW_VALID_SIGNATURES"
    assert signing(made, PrivateKey.generate_ed25519()) == "NO_NEW_VALID_SIGNATURES"
    assert signing(made, SIGNERS[1]) == "SUCCESS"
    assert balance(joint) == 5 * HBAR
    _, child = rows_of(row)
    assert (child["name"], child["scheduled"], child["result"]) == (
        "CRYPTOTRANSFER", True, "SUCCESS",
    )  # fmt: skip
    assert child["charged_tx_fee"] == 0  # all that a transfer of HBAR costs is of node and network
    assert executed(made) == child["consensus_timestamp"]
    assert signing(made, SIGNERS[2]) == "SCHEDULE_ALREADY_EXECUTED"
    shown = get(f"/schedules/{made}")
    assert (shown["creator_account_id"], shown["payer_account_id"]) == (CHARLIE, CHARLIE)
    prefixes = [base64.b64decode(each["public_key_prefix"]) for each in shown["signatures"]]
    assert {keys.public_key(key) for key in PUBLIC[:2]} < set(prefixes)


def test_the_key_that_counts_is_the_one_at_the_end(done, submit, signing, executed, joint):
    made = done(creation_of(payment(HBAR, joint)), CHARLIE)["entity_id"]
    assert signing(made, SIGNERS[0]) == "SUCCESS"
    change = make(ALICE, "cryptoUpdateAccount", accountIDToUpdate=account(joint), key=PUBLIC[2])
    assert submit(change, ALICE, *SIGNERS).result == "SUCCESS"
    assert executed(made) is None
    assert signing(made, SIGNERS[2]) == "SUCCESS"
    assert executed(made)


def test_the_payer_that_it_names_signs_and_pays(done, signing, executed, balance, created):
    payer = created(creation(key=PUBLIC[0], initialBalance=HBAR), ALICE)
    body = creation_of(creation(key=PUBLIC[1]), payerAccountID=account(payer))
    made = done(body, CHARLIE)["entity_id"]
    assert executed(made) is None
    assert signing(made, SIGNERS[0]) == "SUCCESS"
    assert executed(made)
    assert balance(payer) == HBAR - HBAR // 2 + HBAR // 1000  # without the fees of node and network


def cheap(body, fee=1):
    body.transactionFee = fee
    return body


@pytest.mark.parametrize(
    ("has", "scheduled", "result"),
    [
        (5 * HBAR, lambda payer: payment(10 * HBAR, payer), "INSUFFICIENT_ACCOUNT_BALANCE"),
        (HBAR // 10, lambda payer: creation(key=PUBLIC[1]), "INSUFFICIENT_PAYER_BALANCE"),
        (5 * HBAR, lambda payer: cheap(creation(key=PUBLIC[1])), "INSUFFICIENT_TX_FEE"),
    ],
)
def test_it_fails_by_itself(done, created, balance, rows_of, get, has, scheduled, result):
    payer = created(creation(key=PUBLIC[0], initialBalance=has), ALICE)
    body = creation_of(scheduled(payer), payerAccountID=account(payer))
    made, child = rows_of(done(body, CHARLIE, SIGNERS[0]))
    assert (made["result"], child["result"]) == ("SUCCESS", result)
    assert (balance(payer), child["charged_tx_fee"]) == (has, 0)
    shown = get(f"/schedules/{made['entity_id']}")
    assert shown["executed_timestamp"] == child["consensus_timestamp"]


def test_a_deleted_payer_pays_nothing(done, submit, created, signing, rows_of):
    payer = created(creation(key=PUBLIC[0], initialBalance=HBAR), ALICE)
    named = {"payerAccountID": account(payer)}
    needs_another = creation(key=PUBLIC[1], receiverSigRequired=True)
    row, free = (
        done(creation_of(scheduled, **named), CHARLIE, SIGNERS[0])
        for scheduled in (needs_another, payment())
    )
    assert submit(deletion(payer), ALICE, SIGNERS[0]).result == "SUCCESS"
    assert signing(row["entity_id"], SIGNERS[1]) == "SUCCESS"
    assert rows_of(row)[1]["result"] == "INSUFFICIENT_PAYER_BALANCE"
    assert signing(free["entity_id"], ALICE) == "SUCCESS"
    assert rows_of(free)[1]["result"] == "SUCCESS"


def test_it_waits_for_its_time(done, signing, executed, balance, get, monkeypatch):
    expires = now() + 62 * DAY
    body = creation_of(payment(), expires=expires, wait_for_expiry=True)
    late = creation_of(payment(2 * HBAR), expires=expires)
    made, unsigned = (done(each, CHARLIE)["entity_id"] for each in (body, late))
    assert signing(made, ALICE) == "SUCCESS"
    assert executed(made) is None
    assert get(f"/schedules/{made}")["expiration_time"] == f"{expires}.000000000"
    before = balance(BOB)
    for moment, expected in enumerate([None, f"{expires}.000000000"], start=-1):
        monkeypatch.setattr(times, "now", lambda moment=moment: expires * times.SECOND + moment)
        assert executed(made) == expected
    assert balance(BOB) == before + HBAR
    assert executed(unsigned) is None
    for moment, schedule_id in enumerate((made, unsigned)):
        monkeypatch.setattr(times, "now", lambda moment=moment: expires * times.SECOND + moment)
        assert signing(schedule_id, ALICE) == "INVALID_SCHEDULE_ID"


def test_one_that_expired_by_a_clock_that_is_ahead_is_not_signed(app, done, signing):
    made = done(creation_of(payment(), expires=now() + DAY), CHARLIE)["entity_id"]
    with app.app_context(), write() as db:
        schedules.put(db, schedules.find(db, made), state="expired")
    assert signing(made, ALICE) == "INVALID_SCHEDULE_ID"


def test_one_whose_account_is_gone_ends_without_a_record(done, submit, created, get, monkeypatch):
    sender = created(creation(key=PUBLIC[0], initialBalance=HBAR), ALICE)
    body = creation_of(payment(1, sender), expires=now() + DAY, wait_for_expiry=True)
    row = done(body, CHARLIE, SIGNERS[0])
    later = times.now() + 2 * DAY * times.SECOND
    assert submit(deletion(sender), ALICE, SIGNERS[0]).result == "SUCCESS"
    monkeypatch.setattr(times, "now", lambda: later)
    _, child = get(f"/transactions/{row['transaction_id']}")["transactions"]
    assert child["result"] == "ACCOUNT_DELETED"


def test_hapi_shows_it(done, ask, joint):
    body = creation_of(payment(1, joint), memo="rent", adminKey=public(ADMIN))
    made = done(body, CHARLIE, ADMIN, SIGNERS[0])["entity_id"]
    pay = hapi.payment(BOB)
    info = ask("scheduleGetInfo", payment=pay, scheduleID=schedule(made))[0].scheduleInfo
    assert (info.memo, info.wait_for_expiry) == ("rent", False)
    assert (info.creatorAccountID, info.payerAccountID) == (account(CHARLIE), account(CHARLIE))
    assert info.adminKey == public(ADMIN)
    signers = [keys.of_bytes(public_key(CHARLIE)), PUBLIC[0]]
    assert sorted(info.signers.keys, key=str) == sorted(signers, key=str)
    paid = payment(1, joint)
    scheduled = SchedulableTransactionBody(
        cryptoTransfer=paid.cryptoTransfer, transactionFee=paid.transactionFee
    )
    assert info.scheduledTransactionBody == scheduled
    assert info.scheduledTransactionID.scheduled
    assert not info.HasField("execution_time") and not info.HasField("deletion_time")


def test_receipts_and_records_have_its_id(done, ask, signing):
    body = creation_of(payment())
    made = done(body, CHARLIE)["entity_id"]
    response, _ = ask("transactionGetReceipt", hapi.RECEIPTS, transactionID=body.transactionID)
    assert response.receipt.scheduleID == schedule(made)
    scheduled = response.receipt.scheduledTransactionID
    assert scheduled.scheduled
    assert ask("transactionGetReceipt", hapi.RECEIPTS, transactionID=scheduled)[1] != "OK"
    assert signing(made, ALICE) == "SUCCESS"
    assert ask("transactionGetReceipt", hapi.RECEIPTS, transactionID=scheduled)[1] == "OK"
    paid = {"payment": hapi.payment(BOB), "transactionID": scheduled}
    record = ask("transactionGetRecord", RECORDS, **paid)[0].transactionRecord
    assert (record.scheduleRef, record.transactionID) == (schedule(made), scheduled)


def test_an_identical_schedule_is_refused(done, submit, ask):
    body = creation_of(payment())
    made = done(body, CHARLIE)["entity_id"]
    scheduled = body.transactionID
    assert submit(body, CHARLIE).result == "IDENTICAL_SCHEDULE_ALREADY_CREATED"
    response, _ = ask("transactionGetReceipt", hapi.RECEIPTS, transactionID=body.transactionID)
    assert response.receipt.scheduleID == schedule(made)
    assert response.receipt.scheduledTransactionID.transactionValidStart != scheduled
    assert submit(creation_of(payment(), memo="another"), CHARLIE).result == "SUCCESS"


def test_its_admin_deletes_it(done, submit, get, signing, joint):
    body = creation_of(payment(1, joint), adminKey=public(ADMIN))
    made = done(body, CHARLIE, ADMIN)["entity_id"]
    delete = about("scheduleDelete", made)
    assert submit(delete, CHARLIE).result == "INVALID_SIGNATURE"
    assert submit(delete, CHARLIE, ADMIN).result == "SUCCESS"
    assert get(f"/schedules/{made}")["deleted"] is True
    assert submit(delete, CHARLIE, ADMIN).result == "SCHEDULE_ALREADY_DELETED"
    assert signing(made, ALICE) == "SCHEDULE_ALREADY_DELETED"
    immutable = done(creation_of(payment(2)), CHARLIE)["entity_id"]
    assert submit(about("scheduleDelete", immutable), CHARLIE).result == "SCHEDULE_IS_IMMUTABLE"


def test_either_key_of_its_admin_deletes_it(done, submit, get, joint):
    other = PrivateKey.generate_ecdsa()
    admin = Key(thresholdKey={"threshold": 1, "keys": {"keys": [public(ADMIN), public(other)]}})
    made = [
        done(creation_of(payment(amount, joint), adminKey=admin), CHARLIE, ADMIN)["entity_id"]
        for amount in (1, 2)
    ]
    for schedule_id, key in zip(made, (ADMIN, other), strict=True):
        assert submit(about("scheduleDelete", schedule_id), CHARLIE, key).result == "SUCCESS"
        assert get(f"/schedules/{schedule_id}")["deleted"] is True


def test_what_needs_a_hollow_account_is_not_scheduled(submit, created, get):
    """Its signature of a ScheduleSign does not complete it."""
    key = PrivateKey.generate_ecdsa()
    assert submit(to_alias(address(key)), ALICE).result == "SUCCESS"
    hollow = get(f"/accounts/0x{address(key).hex()}")["account"]
    body = creation_of(payment(1, hollow))
    assert submit(body, CHARLIE, key).result == "UNRESOLVABLE_REQUIRED_SIGNERS"
    assert submit(creation_of(payment(1, ALICE, hollow)), CHARLIE).result == "SUCCESS"
    assert submit(transfer(hollow, {hollow: -1, ALICE: 1}), key).result == "SUCCESS"
    assert submit(creation_of(payment(1, hollow)), CHARLIE).result == "SUCCESS"


def falsify(content, key):
    """Make a key's signature false. Add one of another kind, and one of none."""
    transaction = Transaction.FromString(content)
    signed = SignedTransaction.FromString(transaction.signedTransactionBytes)
    [pair] = [each for each in signed.sigMap.sigPair if each.pubKeyPrefix == key]
    pair.ed25519 = bytes(64)
    signed.sigMap.sigPair.add(pubKeyPrefix=b"other", RSA_3072=b"x")
    signed.sigMap.sigPair.add(pubKeyPrefix=b"none")
    transaction.signedTransactionBytes = signed.SerializeToString()
    return transaction.SerializeToString()


def test_a_false_signature_is_ignored(done, ledger, executed, joint, get):
    """It does not count, and the mirror node shows it beside the others."""
    made = done(creation_of(payment(1, joint)), CHARLIE)["entity_id"]
    for needed, false, result in (
        ([], SIGNERS[2], "NO_NEW_VALID_SIGNATURES"),
        (SIGNERS[:1], SIGNERS[2], "SUCCESS"),
    ):
        content = sign(about("scheduleSign", made), CHARLIE, *needed, false)
        assert ledger.submit(falsify(content, raw(false))).result == result
    assert executed(made) is None
    shown = get(f"/schedules/{made}")["signatures"]
    types = {base64.b64decode(each["public_key_prefix"]): each["type"] for each in shown}
    ed25519 = dict.fromkeys([public_key(CHARLIE), raw(SIGNERS[0]), raw(SIGNERS[2])], "ED25519")
    assert types == ed25519 | {b"other": "RSA_3072"}


@pytest.mark.parametrize("kind", ["scheduleSign", "scheduleDelete"])
def test_one_that_is_none(submit, kind):
    assert submit(about(kind, "0.0.77"), CHARLIE).result == "INVALID_SCHEDULE_ID"
    assert submit(make(CHARLIE, kind), CHARLIE).result == "INVALID_SCHEDULE_ID"


@pytest.mark.parametrize(
    ("scheduled", "fields", "result"),
    [
        (payment(), {"expires": 5}, "SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME"),
        (payment(), {"expires": 2**63 - 1}, "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE"),
        (payment(), {"wait_for_expiry": True}, "MISSING_EXPIRY_TIME"),
        (payment(), {"memo": "x" * 101}, "MEMO_TOO_LONG"),
        (payment(), {"memo": "\0"}, "INVALID_ZERO_BYTE_IN_STRING"),
        (payment(), {"payerAccountID": account("0.0.0")}, "ACCOUNT_ID_DOES_NOT_EXIST"),
        (payment(), {"adminKey": Key(ed25519=b"x")}, "INVALID_ADMIN_KEY"),
        (
            payment(),
            {"adminKey": Key(ed25519=b"x"), "expires": 5},
            "SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME",
        ),
        (payment(), {"adminKey": public(ADMIN)}, "INVALID_SIGNATURE"),
        (transfer(ALICE, {ALICE: -1}), {}, "INVALID_ACCOUNT_AMOUNTS"),
        (deletion(ALICE), {}, "SCHEDULED_TRANSACTION_NOT_IN_WHITELIST"),
        (make(ALICE, "freeze"), {}, "NOT_SUPPORTED"),
        (minting(ALICE, "0.0.0"), {}, "INVALID_TOKEN_ID"),
    ],
)
def test_what_is_refused(submit, scheduled, fields, result):
    assert submit(creation_of(scheduled, **fields), CHARLIE).result == result


def test_a_schedule_of_nothing(submit):
    assert submit(make(CHARLIE, "scheduleCreate"), CHARLIE).result == "INVALID_TRANSACTION"


def test_a_token_is_created_and_minted(done, rows_of, get):
    row = done(creation_of(token_creation(tokenType=0)), CHARLIE, TREASURY, ISSUER)
    coin = rows_of(row)[1]["entity_id"]
    body = minting(TREASURY, coin)
    body.tokenMint.amount = 5
    done(creation_of(body), CHARLIE, ISSUER)
    assert get(f"/tokens/{coin}")["total_supply"] == "5"


def test_it_is_not_signed_in_a_batch(done, executed, submit):
    made = done(creation_of(payment()), CHARLIE)["entity_id"]
    signing = inner(about("scheduleSign", made), CHARLIE, ALICE)
    assert submit(batch(signing), CHARLIE, BATCHER).result == "BATCH_TRANSACTION_IN_BLACKLIST"
    assert not executed(made)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_signature_is_not_of_another_account_whose_key_is_unknown(submit, created, get, is_known):
    """The key becomes Bob's, and not Alice's too, though the schedule needs both."""
    if is_known:
        assert submit(transfer(BOB, {BOB: -1, CHARLIE: 1}), BOB).result == "SUCCESS"
    swap = transfer(BOB, {ALICE: -HBAR, BOB: -HBAR, CHARLIE: 2 * HBAR})
    schedule_id = created(creation_of(swap, payerAccountID=account(BOB)), CHARLIE)
    assert submit(about("scheduleSign", schedule_id, BOB), BOB).result == "SUCCESS"
    assert get(f"/schedules/{schedule_id}")["executed_timestamp"] is None
    assert submit(about("scheduleSign", schedule_id, ALICE), ALICE).result == "SUCCESS"
    assert get(f"/schedules/{schedule_id}")["executed_timestamp"] is not None
