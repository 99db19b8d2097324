"""Files: the transactions about them, what queries answer, and the network's own files."""

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.fees.fee_schedule_pb2 import FeeSchedule
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    CurrentAndNextFeeSchedule,
    FileID,
    Key,
    NodeAddressBook,
)
from hiero_sdk_python.hapi.services.exchange_rate_pb2 import ExchangeRateSet

from hiero_sandbox import times
from sandbox.tests import bodies, hapi
from sandbox.tests.bodies import HBAR
from sandbox.tests.people import ALICE

OWNER, OTHER = PrivateKey.generate_ed25519(), PrivateKey.generate_ed25519()
DAY = 86_400
SHARED = HBAR // 10 + HBAR // 1000  # another key, and its signature


def public(key):
    return Key(ed25519=key.public_key().to_bytes_raw())


def after(days):
    return {"seconds": times.now() // times.SECOND + days * DAY}


def creation(*keys, **fields):
    fields = {"contents": b"first", "expirationTime": after(90)} | fields
    body = bodies.make(ALICE, "fileCreate", keys={"keys": map(public, keys)}, **fields)
    body.transactionFee = 50 * HBAR
    return body


def about(kind, file_id, **fields):
    named = FileID(fileNum=int(file_id.rpartition(".")[2]))
    body = bodies.make(ALICE, kind, fileID=named, **fields)
    body.transactionFee = 50 * HBAR
    return body


@pytest.fixture
def file(created):
    """A file that two keys own."""
    return created(creation(OWNER, OTHER), ALICE, OWNER, OTHER)


@pytest.fixture
def read(ask):
    """What a query answers about a file, and its code."""
    count = iter(range(3, 99))

    def read(file_id, name="fileGetContents"):
        named = FileID(fileNum=int(file_id.rpartition(".")[2]))
        paid = hapi.payment(ALICE, seconds_ago=next(count))
        answered, code = ask(name, fileID=named, payment=paid)
        return (answered.fileContents.contents if "Contents" in name else answered.fileInfo), code

    return read


def test_a_file_is_created_read_appended_to_and_replaced(file, submit, read):
    assert read(file) == (b"first", "OK")
    for part in (b" second", b" third"):
        receipt = submit(about("fileAppend", file, contents=part), ALICE, OWNER, OTHER)
        assert receipt.result == "SUCCESS"
    assert read(file) == (b"first second third", "OK")
    body = about("fileUpdate", file, contents=b"new", memo={"value": "a memo"})
    assert submit(body, ALICE, OWNER, OTHER).result == "SUCCESS"
    assert read(file) == (b"new", "OK")
    info, code = read(file, "fileGetInfo")
    assert (info.size, info.memo, info.deleted, code) == (3, "a memo", False, "OK")
    assert [*info.keys.keys] == [public(OWNER), public(OTHER)]


def test_one_of_its_keys_deletes_a_file(file, submit, read):
    assert submit(about("fileDelete", file), ALICE).result == "INVALID_SIGNATURE"
    assert submit(about("fileDelete", file), ALICE, OTHER).result == "SUCCESS"
    info, code = read(file, "fileGetInfo")
    assert (info.size, info.deleted, code) == (0, True, "OK")
    for body in (
        about("fileDelete", file),
        about("fileAppend", file, contents=b"x"),
        about("fileUpdate", file, contents=b"x"),
    ):
        assert submit(body, ALICE, OWNER, OTHER).result == "FILE_DELETED"


def test_all_keys_sign_a_change_and_nobody_an_extension(file, submit, read):
    before, _ = read(file, "fileGetInfo")
    body = about("fileUpdate", file, contents=b"x")
    assert submit(body, ALICE, OWNER).result == "INVALID_SIGNATURE"
    new = PrivateKey.generate_ed25519()
    body = about("fileUpdate", file, keys={"keys": [public(new)]})
    assert submit(body, ALICE, OWNER, OTHER).result == "INVALID_SIGNATURE"
    assert submit(body, ALICE, OWNER, OTHER, new).result == "SUCCESS"
    assert submit(about("fileUpdate", file, expirationTime=after(92)), ALICE).result == "SUCCESS"
    info, _ = read(file, "fileGetInfo")
    assert [*info.keys.keys] == [public(new)]
    assert info.expirationTime.seconds > before.expirationTime.seconds


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (creation(OWNER, expirationTime=None), "INVALID_EXPIRATION_TIME"),
        (creation(OWNER, expirationTime=after(0)), "AUTORENEW_DURATION_NOT_IN_RANGE"),
        (creation(OWNER, expirationTime=after(200)), "AUTORENEW_DURATION_NOT_IN_RANGE"),
        (creation(OWNER, memo="x" * 101), "MEMO_TOO_LONG"),
        (about("fileAppend", "0.0.999999", contents=b"x"), "INVALID_FILE_ID"),
        (bodies.make(ALICE, "fileAppend", contents=b"x"), "INVALID_FILE_ID"),
        (about("fileUpdate", "0.0.999999", contents=b"x"), "INVALID_FILE_ID"),
        (about("fileDelete", "0.0.999999"), "INVALID_FILE_ID"),
        (about("fileUpdate", "0.0.112", contents=b"x"), "AUTHORIZATION_FAILED"),
        (about("fileDelete", "0.0.101"), "ENTITY_NOT_ALLOWED_TO_DELETE"),
    ],
)
def test_it_is_refused_as_by_the_network(submit, body, result):
    assert submit(body, ALICE, OWNER).result == result


def test_a_file_without_keys_never_changes(created, submit):
    file = created(creation(), ALICE)
    for body in (
        about("fileAppend", file, contents=b"x"),
        about("fileUpdate", file, contents=b"x"),
        about("fileDelete", file),
    ):
        assert submit(body, ALICE).result == "UNAUTHORIZED"


def test_its_size_has_a_limit(created, submit, read, monkeypatch):
    """It is a megabyte, of which each transaction has a few thousand bytes."""
    monkeypatch.setattr("hiero_sandbox.ledger.files.MAX_BYTES", 8)
    file = created(creation(OWNER, contents=b"12345"), ALICE, OWNER)
    for part, result in ((b"6789", "MAX_FILE_SIZE_EXCEEDED"), (b"678", "SUCCESS")):
        body = about("fileAppend", file, contents=part)
        assert submit(body, ALICE, OWNER).result == result
    assert read(file) == (b"12345678", "OK")


def test_what_files_cost(done):
    """A key and a thousand bytes are included; further ones cost $0.01 and $0.0001 each."""
    row = done(creation(OWNER), ALICE, OWNER)
    shared = done(creation(OWNER, OTHER), ALICE, OWNER, OTHER)
    assert shared["charged_tx_fee"] - row["charged_tx_fee"] == SHARED
    row = done(creation(OWNER, contents=b"x" * 1000), ALICE, OWNER)
    longer = done(creation(OWNER, contents=b"x" * 1010), ALICE, OWNER)
    assert longer["charged_tx_fee"] - row["charged_tx_fee"] == HBAR // 100
    assert row["name"] == "FILECREATE"


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (101, NodeAddressBook),
        (102, NodeAddressBook),
        (111, CurrentAndNextFeeSchedule),
        (112, ExchangeRateSet),
        (113, FeeSchedule),
    ],
)
def test_the_networks_own_files(read, number, kind):
    content, code = read(f"0.0.{number}")
    assert code == "OK"
    assert kind.FromString(content).ByteSize() == len(content) > 0
    info, code = read(f"0.0.{number}", "fileGetInfo")
    assert (info.size, code) == (len(content), "OK")


def test_no_file_has_another_id(read):
    assert read("0.0.999999")[1] == read("0.0.103")[1] == "INVALID_FILE_ID"


def test_the_price_list_has_the_prices(read):
    schedule = FeeSchedule.FromString(read("0.0.113")[0])
    [service] = schedule.services
    fees = {each.name: each.base_fee for each in service.schedule}
    assert (
        sorted(fees.values())[-1] == 9_999_000_000
    )  # tinycents of a token, without node and network
    assert schedule.network.multiplier == 9
