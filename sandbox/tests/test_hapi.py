"""The sandbox's node answers in HAPI's own messages and codes. Tests call it without a transport."""

import sqlite3

import pytest
from google.protobuf.message import DecodeError
from hiero_sdk_python.hapi.mirror.mirror_network_service_pb2 import AddressBookQuery
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountID,
    FileID,
    Key,
    NodeAddress,
    NodeAddressBook,
    ScheduleID,
    TransactionID,
)
from hiero_sdk_python.hapi.services.exchange_rate_pb2 import ExchangeRateSet
from hiero_sdk_python.hapi.services.query_header_pb2 import ResponseType
from hiero_sdk_python.hapi.services.query_pb2 import Query
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

from hiero_sandbox import database, storage, times
from hiero_sandbox.hapi.errors import Failed
from hiero_sandbox.messages import account
from sandbox.tests import hapi
from sandbox.tests.accounts import to_alias
from sandbox.tests.bodies import NFT, approval, make, minting, sign, transfer
from sandbox.tests.hapi import APPROVE, COST, PAID, RECEIPTS
from sandbox.tests.people import ALICE, BOB, CHARLIE, MARKET, TOKEN, public_key

RECORDS = "/proto.CryptoService/getTxRecordByTxID"
TRANSFER = "/proto.CryptoService/cryptoTransfer"
TREASURY = "0.0.1000"
NODES = "/com.hedera.mirror.api.proto.NetworkService/getNodes"
BALANCE = "/proto.CryptoService/cryptoGetBalance"


@pytest.fixture
def submit(call):
    def submit(body, *signers, path=APPROVE, **options):
        return hapi.precheck(call(path, sign(body, *signers), **options))

    return submit


@pytest.fixture
def receipt_of(ask):
    def receipt_of(body, **options):
        asked = body.transactionID
        return ask("transactionGetReceipt", RECEIPTS, transactionID=asked, **options)

    return receipt_of


def status(receipt):
    return ResponseCodeEnum.Name(receipt.status)


# Transactions, and their receipts


def test_what_reaches_consensus_has_a_receipt(nft, submit, receipt_of):
    body = approval(ALICE)
    assert submit(body, ALICE) == "OK"
    response, code = receipt_of(body)
    assert (code, status(response.receipt)) == ("OK", "SUCCESS")
    rate = response.receipt.exchangeRate.currentRate
    assert (rate.hbarEquiv, rate.centEquiv) == (1, 10)
    assert rate.expirationTime.seconds > times.now() // times.SECOND


def test_what_fails_at_consensus_has_one_too(nft, submit, receipt_of):
    body = approval(BOB)
    assert submit(body, BOB) == "OK"
    response, code = receipt_of(body)
    assert (code, status(response.receipt)) == ("OK", "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")


def test_what_a_node_refuses_has_none(nft, submit, receipt_of):
    body = approval(ALICE)
    assert submit(body) == "INVALID_SIGNATURE"
    _, code = receipt_of(body)
    assert code == "RECEIPT_NOT_FOUND"


def test_a_fee_that_is_too_low_is_answered_with_what_it_costs(nft, call):
    cheap = approval(ALICE)
    cheap.transactionFee = 1
    response = TransactionResponse.FromString(call(APPROVE, sign(cheap, ALICE)))
    assert response.cost == 50_000_000
    assert hapi.precheck(response.SerializeToString()) == "INSUFFICIENT_TX_FEE"


def test_a_mint_tells_its_serial_numbers_and_the_supply_of_its_moment(submit, receipt_of, ask):
    mints = [minting(TREASURY, "0.0.7300", *each) for each in ([b"one", b"two"], [b"three"])]
    for mint in mints:
        assert submit(mint, TREASURY, path="/proto.TokenService/mintToken") == "OK"
    receipts = [receipt_of(mint)[0].receipt for mint in mints]
    assert [list(receipt.serialNumbers) for receipt in receipts] == [[1, 2], [3]]
    assert [receipt.newTotalSupply for receipt in receipts] == [2, 3]
    asked = {"payment": hapi.payment(TREASURY), "transactionID": mints[1].transactionID}
    record, _ = ask("transactionGetRecord", **asked)
    [moved] = record.transactionRecord.tokenTransferLists[0].nftTransfers
    # JavaScript can't read a transfer that lacks one of its parties.
    assert moved.HasField("senderAccountID") and moved.senderAccountID == account("0.0.0")


def test_a_repetition_at_another_node_is_a_duplicate(nft, submit, receipt_of):
    body = approval(ALICE)
    assert submit(body, ALICE) == "OK"
    body.nodeAccountID.accountNum = 4
    assert submit(body, ALICE) == "OK"
    response, _ = receipt_of(body, includeDuplicates=True)
    assert status(response.receipt) == "SUCCESS"
    repeated = [status(receipt) for receipt in response.duplicateTransactionReceipts]
    assert repeated == ["DUPLICATE_TRANSACTION"]
    response, _ = receipt_of(body)
    assert list(response.duplicateTransactionReceipts) == []


def test_a_receipt_lives_for_three_minutes(nft, submit, receipt_of):
    body, now = approval(ALICE), times.now()
    assert submit(body, ALICE, now=now) == "OK"
    assert receipt_of(body, now=now + 179 * times.SECOND)[1] == "OK"
    assert receipt_of(body, now=now + 181 * times.SECOND)[1] == "RECEIPT_NOT_FOUND"


@pytest.mark.parametrize(
    "asked", [{}, {"transactionID": TransactionID()}, {"transactionID": TransactionID(nonce=1)}]
)
def test_a_receipt_of_no_id(ask, asked):
    _, code = ask("transactionGetReceipt", RECEIPTS, **asked)
    assert code == "INVALID_TRANSACTION_ID"


def test_a_receipt_of_another_nonce_or_schedule(nft, submit, ask):
    body = approval(ALICE)
    submit(body, ALICE)
    for other in ({"scheduled": True}, {"nonce": 1}):
        asked = TransactionID(**other)
        asked.MergeFrom(body.transactionID)
        _, code = ask("transactionGetReceipt", RECEIPTS, transactionID=asked)
        assert code == "RECEIPT_NOT_FOUND"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "INVALID_TRANSACTION_BODY"),
        (b"\xff", "INVALID_TRANSACTION"),
        (b"garbage" * 20, "INVALID_TRANSACTION"),
        (b"\x2a\x03abc", "INVALID_TRANSACTION"),
        (b"\x2a\x02\x0a\x00", "INVALID_TRANSACTION_BODY"),
    ],
)
def test_garbage_is_no_transaction(call, content, code):
    assert hapi.precheck(call(APPROVE, content)) == code


@pytest.mark.parametrize("app", ["file"], indirect=True)
def test_a_locked_ledger_is_busy(app, nft, submit, monkeypatch):
    monkeypatch.setattr(storage, "BUSY_SECONDS", 0.05)
    ledger = app.extensions[database.KEY]
    ledger.close()
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        assert submit(approval(ALICE), ALICE) == "BUSY"
    finally:
        connection.close()
    assert submit(approval(ALICE), ALICE) == "OK"


@pytest.mark.parametrize("app", ["file"], indirect=True)
def test_a_ledger_that_is_gone_is_no_platform(tmp_path, submit, receipt_of, caplog):
    (tmp_path / "sandbox.db").rename(tmp_path / "elsewhere.db")
    body = approval(ALICE)
    assert submit(body, ALICE) == "PLATFORM_NOT_ACTIVE"
    assert receipt_of(body)[1] == "PLATFORM_NOT_ACTIVE"
    assert "The sandbox's ledger cannot be used: " in caplog.text


# Queries that are paid


def test_a_record_is_paid_for(nft, submit, ask):
    body = approval(ALICE, memo="Hello")
    submit(body, ALICE)
    asked = {"transactionID": body.transactionID}
    response, code = ask("transactionGetRecord", RECORDS, header=COST, **asked)
    assert (code, response.header.cost) == ("OK", 100_000)
    assert not response.HasField("transactionRecord")

    paid = hapi.payment(ALICE, response.header.cost)
    response, code = ask("transactionGetRecord", RECORDS, payment=paid, **asked)
    assert code == "OK"
    record = response.transactionRecord
    assert status(record.receipt) == "SUCCESS"
    assert record.memo == "Hello"
    assert record.transactionID == asked["transactionID"]
    assert len(record.transactionHash) == 48
    assert record.transactionFee == 50_000_000
    amounts = {
        amount.accountID.accountNum: amount.amount for amount in record.transferList.accountAmounts
    }
    assert amounts == {1001: -50_000_000, 802: 50_000_000}

    _, code = ask("transactionGetRecord", RECORDS, payment=paid, **asked)
    assert code == "DUPLICATE_TRANSACTION"  # what paid once


def test_a_record_shows_the_nfts_that_moved(nft, submit, ask):
    body = transfer(ALICE, nfts=[(NFT, ALICE, BOB)])
    assert submit(body, ALICE, path=TRANSFER) == "OK"
    asked = {"transactionID": body.transactionID, "payment": hapi.payment(BOB)}
    response, _ = ask("transactionGetRecord", RECORDS, **asked)
    [moved] = response.transactionRecord.tokenTransferLists
    assert moved.token.tokenNum == 7001
    [one] = moved.nftTransfers
    assert (one.senderAccountID, one.receiverAccountID, one.serialNumber) == (
        account(ALICE),
        account(BOB),
        7,
    )


def test_a_record_of_a_child_has_its_nonce(submit, ask):
    body = to_alias(b"\xab" * 20)
    assert submit(body, ALICE, path=TRANSFER) == "OK"
    asked = {"transactionID": body.transactionID, "include_child_records": True}
    response, _ = ask("transactionGetRecord", RECORDS, payment=hapi.payment(BOB), **asked)
    [child] = response.child_transaction_records
    assert (child.transactionID.nonce, response.transactionRecord.transactionID.nonce) == (1, 0)


def test_a_record_that_is_not_there(ask):
    asked = {"transactionID": approval(ALICE).transactionID, "payment": hapi.payment(ALICE)}
    _, code = ask("transactionGetRecord", RECORDS, **asked)
    assert code == "RECORD_NOT_FOUND"


@pytest.mark.parametrize(
    ("payment", "expected"),
    [
        (None, "INVALID_TRANSACTION_BODY"),
        (lambda: sign(approval(ALICE), ALICE), "INSUFFICIENT_TX_FEE"),
        (lambda: hapi.payment(ALICE, 99_999), "INSUFFICIENT_TX_FEE"),
        (lambda: hapi.payment(ALICE, to=BOB), "INVALID_RECEIVING_NODE_ACCOUNT"),
        (lambda: hapi.payment(ALICE, seconds_ago=1000), "TRANSACTION_EXPIRED"),
        (lambda: hapi.payment(ALICE, seconds_ago=-1000), "INVALID_TRANSACTION_START"),
        (lambda: hapi.payment(ALICE, node="0.0.4", to="0.0.4"), "OK"),
    ],
)
def test_a_payment_is_checked(ask, payment, expected):
    asked = {"accountID": account(ALICE)}
    _, code = ask("cryptoGetInfo", payment=payment and payment(), **asked)
    assert code == expected


def test_a_payment_that_somebody_else_signed(ask):
    paid = hapi.payment(ALICE)
    assert ask("cryptoGetInfo", payment=paid, accountID=account(ALICE))[1] == "OK"
    [theirs, ours] = (public_key(who) for who in (BOB, ALICE))
    forged = hapi.payment(BOB).replace(theirs, ours)
    _, code = ask("cryptoGetInfo", payment=forged, accountID=account(ALICE))
    assert code == "INVALID_SIGNATURE"


@pytest.mark.parametrize(
    "kind", [ResponseType.ANSWER_STATE_PROOF, ResponseType.COST_ANSWER_STATE_PROOF, 7]
)
def test_a_state_proof_is_not_supported(ask, kind):
    asked = {"header": kind, "accountID": account(ALICE)}
    response, code = ask("cryptogetAccountBalance", BALANCE, **asked)
    assert (code, response.balance) == ("NOT_SUPPORTED", 0)


@pytest.mark.parametrize("name", sorted(field.name for field in Query.DESCRIPTOR.fields))
def test_every_kind_of_query_has_an_answer(call, name):
    response = call(BALANCE, hapi.query(name, header=COST))
    assert response


@pytest.mark.parametrize("content", [b"", b"\xff", b"garbage", b"\xf2\x7f\x02ab"])
def test_garbage_is_no_query(call, content):
    with pytest.raises(DecodeError):
        call(BALANCE, content)


# Answers of queries


def test_a_balance_is_refused_and_the_log_says_whom_to_ask(ask, caplog):
    for header in (COST, PAID):
        asked = {"accountID": account(ALICE), "header": header}
        response, code = ask("cryptogetAccountBalance", BALANCE, **asked)
        assert (code, response.balance) == ("NOT_SUPPORTED", 0)
    assert caplog.text.count("ask the mirror node for balances") == 2


def test_a_balance_for_an_old_program(app, call):
    app.config["BALANCE_QUERIES"] = True
    name, asked = "cryptogetAccountBalance", {"accountID": account(ALICE)}
    response, code = hapi.answer(call(BALANCE, hapi.query(name, **asked)), name)
    assert (code, response.balance, response.accountID) == ("OK", 10**12, account(ALICE))
    response, code = hapi.answer(call(BALANCE, hapi.query(name, header=COST, **asked)), name)
    assert (code, response.header.cost, response.balance) == ("OK", 0, 0)


@pytest.mark.parametrize("asked", [AccountID(), AccountID(accountNum=-1), AccountID(alias=b"x")])
def test_an_unknown_account(ask, asked):
    assert ask("cryptogetAccountBalance", BALANCE, accountID=asked)[1] == "INVALID_ACCOUNT_ID"


def test_an_account_has_the_key_that_signed_for_it(ask):
    paid = hapi.payment(CHARLIE)
    response, code = ask("cryptoGetInfo", payment=paid, accountID=account(CHARLIE))
    assert code == "OK"
    assert response.accountInfo.accountID == account(CHARLIE)
    assert response.accountInfo.key.ed25519 == public_key(CHARLIE)
    response, code = ask(
        "cryptoGetInfo", payment=hapi.payment(CHARLIE), accountID=account("0.0.88")
    )
    # Without a key, it has that of the network's hollow accounts: SDKs can't read an answer without any.
    assert (code, response.accountInfo.key) == ("OK", Key(keyList={}))


def test_an_nft(nft, submit, ask):
    submit(approval(ALICE), ALICE)
    asked = {"nftID": hapi.nft_id(*nft), "payment": hapi.payment(ALICE)}
    response, code = ask("tokenGetNftInfo", **asked)
    assert code == "OK"
    assert response.nft.nftID == asked["nftID"]
    assert (response.nft.accountID, response.nft.spender_id) == (
        account(ALICE),
        account(MARKET),
    )
    assert response.nft.metadata.startswith(b"ipfs://")


def test_an_nft_that_is_none(ask):
    wrong = "INVALID_TOKEN_NFT_SERIAL_NUMBER"
    codes = {1: "INVALID_NFT_ID", 2**63 - 1: "INVALID_NFT_ID", 0: wrong, -1: wrong}
    for serial_no, code in codes.items():
        asked = {"nftID": hapi.nft_id(TOKEN, serial_no), "header": COST}
        assert ask("tokenGetNftInfo", **asked)[1] == code


def test_a_token(nft, ask):
    token = hapi.nft_id(*nft).token_ID
    response, code = ask("tokenGetInfo", payment=hapi.payment(ALICE), token=token)
    assert list(response.tokenInfo.custom_fees) == []
    assert code == "OK"
    assert (response.tokenInfo.name, response.tokenInfo.symbol) == ("Sandbox 0.0.7001", "SAND")
    assert response.tokenInfo.totalSupply == 1


def test_a_token_with_royalties(ask):
    token = hapi.nft_id("0.0.5002", 1).token_ID
    response, _ = ask("tokenGetInfo", payment=hapi.payment(ALICE), token=token)
    first, second = response.tokenInfo.custom_fees
    assert first.fee_collector_account_id == account("0.0.2002")
    fraction = first.royalty_fee.exchange_value_fraction
    assert (fraction.numerator, fraction.denominator) == (5, 100)
    assert first.royalty_fee.fallback_fee.amount == 1_000_000_000
    assert not second.royalty_fee.HasField("fallback_fee")


def test_the_address_book(app, call, ask):
    response, code = ask("fileGetContents", payment=hapi.payment(ALICE), fileID=FileID(fileNum=102))
    assert code == "OK"
    [node] = NodeAddressBook.FromString(response.fileContents.contents).nodeAddress
    assert node.nodeAccountId.accountNum == 3
    asked = AddressBookQuery(file_id={"fileNum": 102}).SerializeToString()
    assert NodeAddress.FromString(call(NODES, asked)) == node


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "must not be null"),
        ({"file_id": {"fileNum": 112}}, "Not a valid address book file"),
        ({"file_id": {"fileNum": 102}, "limit": -1}, "must be >= 0"),
    ],
)
def test_another_file_is_no_address_book(call, asked, message):
    with pytest.raises(Failed, match=message):
        call(NODES, AddressBookQuery(**asked).SerializeToString())


@pytest.mark.parametrize(
    ("path", "kind"),
    [("AddressBookService/createNode", "nodeCreate"), ("FreezeService/freeze", "freeze")],
)
def test_what_only_nodes_do_is_not_supported(call, path, kind):
    content = sign(make(ALICE, kind), ALICE)
    assert hapi.precheck(call(f"/proto.{path}", content)) == "NOT_SUPPORTED"


def test_the_exchange_rates(ask):
    response, code = ask("fileGetContents", payment=hapi.payment(ALICE), fileID=FileID(fileNum=112))
    rate = ExchangeRateSet.FromString(response.fileContents.contents).currentRate
    assert (code, rate.hbarEquiv, rate.centEquiv) == ("OK", 1, 10)


@pytest.mark.parametrize("number", [103, 1001])
def test_an_unknown_file(ask, number):
    _, code = ask("fileGetContents", header=COST, fileID=FileID(fileNum=number))
    assert code == "INVALID_FILE_ID"


def test_an_unknown_schedule(ask):
    asked = {"scheduleID": ScheduleID(scheduleNum=1001)}
    for paid in ({"header": COST}, {"payment": hapi.payment(ALICE)}):
        assert ask("scheduleGetInfo", **paid, **asked)[1] == "INVALID_SCHEDULE_ID"
