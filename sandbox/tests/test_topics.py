"""Topics: who may create, change and delete them, and who may submit messages."""

import base64
import hashlib

import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key, KeyList

from hiero_sandbox import messages, node, times
from hiero_sandbox.ledger import topics
from hiero_sandbox.ledger.topic_messages import next_hash
from hiero_sandbox.messages import account
from sandbox.tests import hapi
from sandbox.tests.account_deletion import deletion
from sandbox.tests.bodies import HBAR, association, make, token_id, transfer
from sandbox.tests.fungible_tokens import move
from sandbox.tests.people import ALICE, BOB, CHARLIE
from sandbox.tests.tokens import ISSUER, TREASURY, creation, fixed
from sandbox.tests.topics import (
    ADMIN,
    COLLECTOR,
    DAYS,
    NEW,
    SUBMITTER,
    fee,
    key,
    message,
    new_topic,
)

UNPAID = "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"
NO_KEY = Key(keyList=KeyList())


def change(topic, payer=ALICE, **fields):
    return make(payer, "consensusUpdateTopic", topicID=messages.topic(topic), **fields)


def remove(topic, payer=ALICE):
    return make(payer, "consensusDeleteTopic", topicID=messages.topic(topic))


@pytest.fixture
def topic(created):
    """Create a topic; returns its id."""

    def create(*signers, **fields):
        body = new_topic(**fields)
        body.transactionFee = 30 * HBAR
        return created(body, ALICE, *signers)

    return create


@pytest.fixture
def said(get):
    """What has been said in a topic."""

    def list_contents(topic, query=""):
        rows = get(f"/topics/{topic}/messages{query}")["messages"]
        return [base64.b64decode(row["message"]) for row in rows]

    return list_contents


def test_it_is_shown(topic, get):
    fields = {"memo": "news", "submitKey": key(SUBMITTER), "autoRenewAccount": account(BOB)}
    made = topic(ADMIN, BOB, adminKey=key(ADMIN), fee_exempt_key_list=[key(NEW)], **fields)
    shown = get(f"/topics/{made}")
    moment = shown.pop("created_timestamp")
    assert shown == {
        "admin_key": {"_type": "ED25519", "key": key(ADMIN).ed25519.hex()},
        "auto_renew_account": BOB,
        "auto_renew_period": 90 * DAYS,
        "custom_fees": {"created_timestamp": moment, "fixed_fees": []},
        "deleted": False,
        "fee_exempt_key_list": [{"_type": "ED25519", "key": key(NEW).ed25519.hex()}],
        "fee_schedule_key": None,
        "memo": "news",
        "submit_key": {"_type": "ED25519", "key": key(SUBMITTER).ed25519.hex()},
        "timestamp": {"from": moment, "to": None},
        "topic_id": made,
    }


def test_messages_are_numbered_and_hashed(topic, done, get):
    made, running = topic(), bytes(48)
    rows = [done(message(made, content), ALICE) for content in (b"one", b"two", b"three")]
    shown = get(f"/topics/{made}/messages")
    for number, (row, item) in enumerate(zip(rows, shown["messages"], strict=True), start=1):
        before = topics.Topic(made, None, 0, 0, 0, 0, 0, number - 1, running)
        moment = times.from_consensus(row["consensus_timestamp"])
        content = base64.b64decode(item["message"])
        running = next_hash(before, ALICE, moment, content)
        assert item == {
            "chunk_info": None,
            "consensus_timestamp": row["consensus_timestamp"],
            "message": item["message"],
            "payer_account_id": ALICE,
            "running_hash": base64.b64encode(running).decode(),
            "running_hash_version": 3,
            "sequence_number": number,
            "topic_id": made,
        }
        assert row["entity_id"] == made
        assert get(f"/topics/{made}/messages/{number}") == item
        assert get(f"/topics/messages/{row['consensus_timestamp']}") == item


def test_the_running_hash_is_that_of_javas_object_output_stream():
    """The bytes that Java has written for these values, hashed."""
    before = topics.Topic("0.0.1000005", None, 0, 0, 0, 0, 0, 7, bytes(range(48)))
    hashed = next_hash(before, "0.0.1001", 1_700_000_000_123_456_789, b"hello").hex()
    assert hashed == (
        "f6d2c57e104797f65eef95d9a81b69fd14177c6a71c2863c43d9c891678c02ff"
        "51c87fe630891941d54bf4de3e521fca"
    )


def test_messages_are_found(topic, done, said, follow, client):
    made = topic()
    moments = [done(message(made, b"%d" % each), ALICE)["consensus_timestamp"] for each in range(5)]
    assert said(made, "?order=desc&limit=2") == [b"4", b"3"]
    assert said(made, "?sequencenumber=gt:2&sequencenumber=lte:4") == [b"2", b"3"]
    assert said(made, f"?timestamp=gte:{moments[3]}") == [b"3", b"4"]
    assert len(follow(f"/topics/{made}/messages?limit=2", "messages")) == 5
    asked = f"/api/v1/topics/{made}/messages"
    assert client.get(f"{asked}?encoding=UTF-8&limit=1").json["messages"][0]["message"] == "0"
    assert said("0.0.77") == []
    for path, status in {
        f"{asked}?encoding=latin1": 400,
        f"{asked}?sequencenumber=0": 400,
        f"{asked}/0": 400,
        f"{asked}/6": 404,
        "/api/v1/topics/x/messages": 400,
        "/api/v1/topics/0.0.77": 404,
        "/api/v1/topics/messages/5.x": 400,
        "/api/v1/topics/messages/1.000000001": 404,
    }.items():
        assert client.get(path).status_code == status, path


def test_all_wrong_ids_in_a_path_are_named(client):
    errors = client.get("/api/v1/topics/x/messages/y").json["_status"]["messages"]
    names = [each["message"].removeprefix("Invalid parameter: ") for each in errors]
    assert names == ["topic.id", "sequencenumber"]


def test_chunks_say_what_they_are_of(topic, done, submit, get):
    made, body = topic(), message("0.0.1")
    first = body.transactionID
    start = times.now() // times.SECOND - 2
    for number in (1, 2):
        body = message(made, b"%d" % number)
        chunk = body.consensusSubmitMessage.chunkInfo
        chunk.total, chunk.number = 2, number
        chunk.initialTransactionID.accountID.CopyFrom(first.accountID)
        chunk.initialTransactionID.transactionValidStart.seconds = start
        expected = "INVALID_CHUNK_TRANSACTION_ID" if number == 1 else "SUCCESS"
        assert submit(body, ALICE).result == expected
    [item] = get(f"/topics/{made}/messages")["messages"]
    assert item["chunk_info"] == {
        "initial_transaction_id": {
            "account_id": ALICE,
            "nonce": 0,
            "scheduled": False,
            "transaction_valid_start": f"{start}.000000000",
        },
        "number": 2,
        "total": 2,
    }
    body.consensusSubmitMessage.chunkInfo.number = 3
    assert submit(body, ALICE).result == "INVALID_CHUNK_NUMBER"
    body.consensusSubmitMessage.chunkInfo.number = 2
    body.transactionID.accountID.CopyFrom(account(BOB))
    assert submit(body, BOB).result == "INVALID_CHUNK_TRANSACTION_ID"


def test_receipts_and_queries_tell(topic, done, ask):
    body = new_topic(memo="news", autoRenewAccount=account(ALICE))
    made = done(body, ALICE)["entity_id"]
    response, _ = ask("transactionGetReceipt", hapi.RECEIPTS, transactionID=body.transactionID)
    assert response.receipt.topicID == messages.topic(made)
    body = message(made)
    done(body, ALICE)
    receipt = ask("transactionGetReceipt", hapi.RECEIPTS, transactionID=body.transactionID)[
        0
    ].receipt
    assert (receipt.topicSequenceNumber, receipt.topicRunningHashVersion) == (1, 3)
    paid = {"payment": hapi.payment(BOB), "topicID": messages.topic(made)}
    answer, code = ask("consensusGetTopicInfo", **paid)
    assert (code, answer.topicID) == ("OK", messages.topic(made))
    info = answer.topicInfo
    assert info.runningHash == receipt.topicRunningHash
    assert (info.memo, info.sequenceNumber, info.autoRenewPeriod.seconds) == ("news", 1, 90 * DAYS)
    assert info.autoRenewAccount == account(ALICE)
    assert not info.HasField("adminKey")
    paid = {"payment": hapi.payment(BOB), "topicID": messages.topic("0.0.77")}
    assert ask("consensusGetTopicInfo", **paid)[1] == "INVALID_TOPIC_ID"


@pytest.mark.parametrize(
    ("fields", "signers", "result"),
    [
        ({"autoRenewPeriod": {"seconds": 1}}, [], "AUTORENEW_DURATION_NOT_IN_RANGE"),
        ({"adminKey": key(ADMIN)}, [], "INVALID_SIGNATURE"),
        ({"adminKey": Key(ed25519=b"x")}, [], "BAD_ENCODING"),
        ({"submitKey": Key(ed25519=b"x")}, [], "BAD_ENCODING"),
        ({"fee_schedule_key": Key()}, [], "INVALID_CUSTOM_FEE_SCHEDULE_KEY"),
        ({"autoRenewAccount": account("0.0.0")}, [], "INVALID_AUTORENEW_ACCOUNT"),
        ({"autoRenewAccount": account(BOB)}, [], "INVALID_SIGNATURE"),
        ({"memo": "x" * 101}, [], "MEMO_TOO_LONG"),
        (
            {"fee_exempt_key_list": [key(NEW)] * 2},
            [],
            "FEE_EXEMPT_KEY_LIST_CONTAINS_DUPLICATED_KEYS",
        ),
        ({"fee_exempt_key_list": [Key()]}, [], "INVALID_KEY_IN_FEE_EXEMPT_KEY_LIST"),
        (
            {"fee_exempt_key_list": [Key(ed25519=bytes([each]) * 32) for each in range(11)]},
            [],
            "MAX_ENTRIES_FOR_FEE_EXEMPT_KEY_LIST_EXCEEDED",
        ),
        ({"custom_fees": [fee(1)] * 11}, [], "CUSTOM_FEES_LIST_TOO_LONG"),
        ({"custom_fees": [fee(0)]}, [], "CUSTOM_FEE_MUST_BE_POSITIVE"),
        ({"custom_fees": [fee(1, collector="0.0.0")]}, [], "INVALID_CUSTOM_FEE_COLLECTOR"),
        ({"custom_fees": [fee(1, "0.0.0")]}, [], "INVALID_TOKEN_ID_IN_CUSTOM_FEES"),
        (
            {"custom_fees": [fee(1) | {"fixed_fee": None}]},
            [],
            "CUSTOM_FEE_NOT_FULLY_SPECIFIED",
        ),
    ],
)
def test_what_cannot_be_created(submit, fields, signers, result):
    body = new_topic(**fields)
    body.transactionFee = 30 * HBAR
    assert submit(body, ALICE, *signers).result == result


def test_its_admin_changes_it(topic, submit, done, get):
    made = topic(ADMIN, adminKey=key(ADMIN), submitKey=key(SUBMITTER), memo="old")
    assert submit(change(made, memo={"value": "new"}), ALICE).result == "INVALID_SIGNATURE"
    fields = {"memo": {"value": "new"}, "autoRenewAccount": account(BOB)}
    done(change(made, adminKey=key(NEW), **fields), ALICE, ADMIN, NEW, BOB)
    shown = get(f"/topics/{made}")
    assert (shown["memo"], shown["auto_renew_account"]) == ("new", BOB)
    assert shown["admin_key"]["key"] == key(NEW).ed25519.hex()
    assert shown["timestamp"]["from"] > shown["created_timestamp"]
    dropped = change(made, adminKey=NO_KEY)
    assert submit(dropped, ALICE, NEW).result == "AUTORENEW_ACCOUNT_NOT_ALLOWED"
    nobody = {"autoRenewAccount": AccountID(accountNum=0)}
    done(change(made, adminKey=NO_KEY, **nobody), ALICE, NEW)
    shown = get(f"/topics/{made}")
    assert (shown["admin_key"], shown["auto_renew_account"]) == (None, None)
    assert submit(change(made, memo={"value": "x"}), ALICE).result == "UNAUTHORIZED"
    assert submit(remove(made), ALICE).result == "UNAUTHORIZED"


def test_deleted_accounts_neither_renew_nor_collect(submit, done):
    gone = "0.0.4009"
    done(transfer(gone, {gone: -1, ALICE: 1}), gone)
    done(deletion(gone), ALICE, gone)
    renewing = new_topic(autoRenewAccount=account(gone))
    assert submit(renewing, ALICE).result == "INVALID_SIGNATURE"
    assert submit(renewing, ALICE, gone).result == "INVALID_AUTORENEW_ACCOUNT"
    collecting = new_topic(custom_fees=[fee(1, collector=gone)])
    collecting.transactionFee = 30 * HBAR
    assert submit(collecting, ALICE).result == "ACCOUNT_DELETED"


def test_the_submit_key_changes_itself(topic, submit, done, get):
    made = topic(submitKey=key(SUBMITTER))
    assert submit(change(made, submitKey=key(NEW)), ALICE).result == "INVALID_SIGNATURE"
    done(change(made, submitKey=key(NEW)), ALICE, SUBMITTER)
    assert submit(message(made), ALICE, SUBMITTER).result == "INVALID_SIGNATURE"
    done(message(made), ALICE, NEW)
    done(change(made, submitKey=NO_KEY), ALICE, NEW)
    done(message(made), ALICE)
    assert get(f"/topics/{made}")["submit_key"] is None
    assert submit(change(made, submitKey=key(NEW)), ALICE).result == "UNAUTHORIZED"


def test_anybody_extends_it(topic, submit, ask):
    made = topic()
    expires = times.now() // times.SECOND + 92 * DAYS
    body = change(made, expirationTime={"seconds": expires})
    assert submit(body, ALICE).result == "SUCCESS"
    paid = {"payment": hapi.payment(BOB), "topicID": messages.topic(made)}
    info = ask("consensusGetTopicInfo", **paid)[0].topicInfo
    assert info.expirationTime.seconds == expires
    body = change(made, expirationTime={"seconds": expires - 1})
    assert submit(body, ALICE).result == "EXPIRATION_REDUCTION_NOT_ALLOWED"


def test_what_cannot_be_changed(topic, done, submit):
    made = topic(ADMIN, adminKey=key(ADMIN))
    done(transfer(BOB, {BOB: -1, ALICE: 1}), BOB)  # Bob's key is known
    for fields, result in (
        ({"fee_schedule_key": key(NEW)}, "FEE_SCHEDULE_KEY_CANNOT_BE_UPDATED"),
        ({"custom_fees": {"fees": [fee(1)]}}, "FEE_SCHEDULE_KEY_NOT_SET"),
        ({"submitKey": Key(ed25519=b"x"), "memo": {"value": ""}}, "BAD_ENCODING"),
        ({"autoRenewPeriod": {"seconds": 1}}, "AUTORENEW_DURATION_NOT_IN_RANGE"),
        ({"autoRenewAccount": account(BOB)}, "INVALID_SIGNATURE"),
        ({"adminKey": key(NEW)}, "INVALID_SIGNATURE"),
        (
            {"fee_exempt_key_list": {"keys": [key(NEW)] * 2}},
            "FEE_EXEMPT_KEY_LIST_CONTAINS_DUPLICATED_KEYS",
        ),
    ):
        assert submit(change(made, **fields), ALICE, ADMIN).result == result


def test_a_deleted_one_is_gone(topic, done, submit, get, said):
    made = topic(ADMIN, adminKey=key(ADMIN))
    done(message(made), ALICE)
    assert submit(remove(made), ALICE).result == "INVALID_SIGNATURE"
    done(remove(made), ALICE, ADMIN)
    assert get(f"/topics/{made}")["deleted"] is True
    assert said(made) == [b"hello"]
    for body in (message(made), remove(made), change(made)):
        assert submit(body, ALICE, ADMIN).result == "INVALID_TOPIC_ID"


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (message("0.0.77"), "INVALID_TOPIC_ID"),
        (message("0.0.77", b""), "INVALID_TOPIC_MESSAGE"),
        (make(ALICE, "consensusSubmitMessage", message=b"x"), "INVALID_TOPIC_ID"),
        (make(ALICE, "consensusUpdateTopic"), "INVALID_TOPIC_ID"),
        (make(ALICE, "consensusDeleteTopic"), "INVALID_TOPIC_ID"),
        (change("0.0.0"), "INVALID_TOPIC_ID"),
    ],
)
def test_one_that_is_none(submit, body, result):
    assert submit(body, ALICE).result == result


def test_a_message_has_at_most_a_kilobyte(topic, submit):
    made = topic()
    assert submit(message(made, b"x" * 1024), ALICE).result == "SUCCESS"
    assert submit(message(made, b"x" * 1025), ALICE).result == "MESSAGE_SIZE_TOO_LARGE"


def test_what_it_costs(topic, done):
    """$0.01; $2 with custom fees. A message $0.00017 to $0.0008, or $0.05 with custom fees."""
    row = done(new_topic(), ALICE)
    assert row["charged_tx_fee"] == HBAR // 10
    costs = [
        done(message(row["entity_id"], b"x" * count), ALICE)["charged_tx_fee"]
        for count in (1, 100, 101, 1024)
    ]
    assert costs == [170_000, 170_000, 170_680, 170_000 + 924 * 680]
    body = new_topic(custom_fees=[fee(1)])
    body.transactionFee = 30 * HBAR
    row = done(body, ALICE)
    assert row["charged_tx_fee"] == 20 * HBAR
    assert done(message(row["entity_id"]), ALICE)["charged_tx_fee"] == HBAR // 2


# Custom fees: HIP-991


def limited(body, *limits):
    for account_id, *fees in limits:
        made = body.max_custom_fees.add(account_id=account(account_id))
        for amount, unit in fees:
            limit = made.fees.add(amount=amount)
            if unit:
                limit.denominating_token_id.CopyFrom(token_id((unit, 0)))
    return body


@pytest.fixture
def coin(created, done):
    coin = created(creation(tokenType=0, initialSupply=1000), TREASURY, ISSUER)
    for account_id in (ALICE, COLLECTOR):
        done(association(account_id, coin), account_id)
    done(move(TREASURY, coin, {TREASURY: -100, ALICE: 100}), TREASURY)
    return coin


def test_a_message_pays_the_fees_of_its_topic(topic, coin, done, balance, get):
    made = topic(custom_fees=[fee(HBAR), fee(5, coin)], fee_schedule_key=key(NEW))
    before = balance(COLLECTOR)
    row = done(limited(message(made), (ALICE, (HBAR, None), (5, coin))), ALICE)
    assert balance(COLLECTOR) == before + HBAR
    units = {each["account"]: each["amount"] for each in row["token_transfers"]}
    assert units == {ALICE: -5, COLLECTOR: 5}
    assert row["assessed_custom_fees"] == [
        {
            "amount": amount,
            "collector_account_id": COLLECTOR,
            "effective_payer_account_ids": [ALICE],
            "token_id": unit,
        }
        for amount, unit in ((HBAR, None), (5, coin))
    ]
    assert row["max_custom_fees"] == [
        {"account_id": ALICE, "amount": amount, "denominating_token_id": unit}
        for amount, unit in ((HBAR, None), (5, coin))
    ]
    assert get(f"/topics/{made}")["custom_fees"]["fixed_fees"] == [
        {"amount": amount, "collector_account_id": COLLECTOR, "denominating_token_id": unit}
        for amount, unit in ((HBAR, None), (5, coin))
    ]


def test_who_owes_nothing(topic, coin, done):
    made = topic(custom_fees=[fee(5, coin)], fee_exempt_key_list=[key(NEW)])
    for payer, signers in ((COLLECTOR, []), (TREASURY, []), (ALICE, [NEW])):
        row = done(message(made, payer=payer), payer, *signers)
        assert "assessed_custom_fees" not in row
    assert "assessed_custom_fees" in done(message(made), ALICE)


def test_a_fee_owes_the_fee_of_its_token(topic, created, done, balance):
    body = creation(tokenType=0, initialSupply=1000, custom_fees=[fixed(HBAR, CHARLIE)])
    coin = created(body, TREASURY, ISSUER)
    for account_id in (ALICE, COLLECTOR):
        done(association(account_id, coin), account_id)
    done(move(TREASURY, coin, {TREASURY: -100, ALICE: 100}), TREASURY)
    made, before = topic(custom_fees=[fee(5, coin)]), balance(CHARLIE)
    row = done(message(made), ALICE)
    assert balance(CHARLIE) == before + HBAR
    assert len(row["assessed_custom_fees"]) == 2


def test_limits_of_fees(topic, coin, submit):
    made = topic(custom_fees=[fee(3), fee(2), fee(5, coin)])
    for limits, result in (
        ([(ALICE, (5, None), (4, coin))], "MAX_CUSTOM_FEE_LIMIT_EXCEEDED"),
        ([(ALICE, (4, None), (5, coin))], "MAX_CUSTOM_FEE_LIMIT_EXCEEDED"),
        ([(ALICE, (5, coin))], "NO_VALID_MAX_CUSTOM_FEE"),
        ([(BOB, (5, None), (5, coin))], "NO_VALID_MAX_CUSTOM_FEE"),
        ([(ALICE, (5, coin), (6, coin))], "DUPLICATE_DENOMINATION_IN_MAX_CUSTOM_FEE_LIST"),
        ([(ALICE, (-1, coin))], "INVALID_MAX_CUSTOM_FEES"),
        ([(ALICE,), (ALICE,)], "DUPLICATE_ACCOUNT_ID_IN_MAX_CUSTOM_FEE_LIST"),
        ([(ALICE, (5, None), (5, coin))], "SUCCESS"),
        ([], "SUCCESS"),
    ):
        assert submit(limited(message(made), *limits), ALICE).result == result
    body = limited(transfer(ALICE, {ALICE: -1, BOB: 1}), (ALICE, (5, None)))
    assert submit(body, ALICE).result == "MAX_CUSTOM_FEES_IS_NOT_SUPPORTED"


def test_who_cannot_pay_says_nothing(topic, coin, submit, said):
    made = topic(custom_fees=[fee(1), fee(101, coin)])
    assert submit(message(made), ALICE).result == UNPAID
    rich = topic(custom_fees=[fee(20_000 * HBAR)])
    assert submit(message(rich), ALICE).result == UNPAID
    assert said(made) == said(rich) == []


def test_fees_in_a_token_that_cannot_be_moved(topic, created, done, submit):
    coin = created(creation(tokenType=0, initialSupply=1000), TREASURY, ISSUER)
    done(association(COLLECTOR, coin), COLLECTOR)
    made = topic(custom_fees=[fee(1, coin)])
    pause = make(TREASURY, "token_pause", token=token_id((coin, 0)))
    freeze = {"token": token_id((coin, 0)), "account": account(COLLECTOR)}
    done(make(TREASURY, "tokenFreeze", **freeze), TREASURY, ISSUER)
    assert submit(message(made), ALICE).result == "ACCOUNT_FROZEN_FOR_TOKEN"
    body = new_topic(custom_fees=[fee(1, coin)])
    body.transactionFee = 30 * HBAR
    assert submit(body, ALICE).result == "ACCOUNT_FROZEN_FOR_TOKEN"
    done(pause, TREASURY, ISSUER)
    assert submit(message(made), ALICE).result == "INVALID_TOKEN_ID_IN_CUSTOM_FEES"


def test_a_fee_is_no_more_than_there_can_be(created, submit, done):
    body = creation(tokenType=0, supplyType=1, maxSupply=10)
    coin = created(body, TREASURY, ISSUER)
    done(association(COLLECTOR, coin), COLLECTOR)
    body = new_topic(custom_fees=[fee(11, coin)])
    body.transactionFee = 30 * HBAR
    assert submit(body, ALICE).result == "AMOUNT_EXCEEDS_TOKEN_MAX_SUPPLY"


def test_the_fee_schedule_key_changes_fees(topic, done, submit, get):
    made = topic(ADMIN, adminKey=key(ADMIN), fee_schedule_key=key(NEW), custom_fees=[fee(1)])
    changes = {"custom_fees": {"fees": [fee(2)]}, "fee_exempt_key_list": {"keys": [key(NEW)]}}
    assert submit(change(made, **changes), ALICE, ADMIN).result == "INVALID_SIGNATURE"
    done(change(made, **changes), ALICE, ADMIN, NEW)
    shown = get(f"/topics/{made}")
    assert [each["amount"] for each in shown["custom_fees"]["fixed_fees"]] == [2]
    assert len(shown["fee_exempt_key_list"]) == 1
    assert shown["custom_fees"]["created_timestamp"] == shown["timestamp"]["from"]
    done(change(made, custom_fees={}, fee_exempt_key_list={}), ALICE, ADMIN, NEW)
    shown = get(f"/topics/{made}")
    assert (shown["custom_fees"]["fixed_fees"], shown["fee_exempt_key_list"]) == ([], [])
    done(change(made, fee_schedule_key=NO_KEY), ALICE, ADMIN)
    assert get(f"/topics/{made}")["fee_schedule_key"] is None


def test_hashes_of_what_nobody_has_sent(ledger, minted, get):
    with ledger.sandbox.app_context():
        node.give(ALICE, 1, times.now())
    [row] = get(f"/transactions?account.id={ALICE}&transactiontype=CRYPTOTRANSFER")["transactions"]
    assert len(base64.b64decode(row["transaction_hash"])) == hashlib.sha384().digest_size
