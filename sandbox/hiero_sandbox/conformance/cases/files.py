"""Files."""

import time
from typing import Any

from hiero_sdk_python.hapi.services.basic_types_pb2 import FileID
from hiero_sdk_python.hapi.services.exchange_rate_pb2 import ExchangeRateSet
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox.conformance.case import case, equal, holds, refused
from hiero_sandbox.conformance.entities import ISSUER, ISSUER_KEY
from hiero_sandbox.conformance.network import Network, code_of

APPEND = "FileAppendHandler of hiero-consensus-node"
UPDATE = "FileUpdateHandler of hiero-consensus-node"
DELETE = "FileDeleteHandler of hiero-consensus-node"
RATES = FileID(fileNum=112)
QUARTER_SECONDS = 90 * 86_400


def create(network: Network, *, has_key: bool = True, contents: bytes = b"one") -> FileID:
    expiry = {"seconds": int(time.time()) + QUARTER_SECONDS}
    fields: dict[str, Any] = {"contents": contents, "expirationTime": expiry}
    if has_key:
        fields["keys"] = {"keys": [ISSUER_KEY]}
    made = network.done(network.body("fileCreate", **fields), ISSUER)
    named: FileID = made.receipt.fileID
    return named


def immutable(network: Network) -> FileID:
    """A file without keys."""
    return create(network, has_key=False)


def about(network: Network, kind: str, file: FileID, **fields: Any) -> TransactionBody:
    return network.body(kind, fileID=file, **fields)


def contents(network: Network, file: FileID) -> bytes:
    answer = network.ask("fileGetContents", fileID=file)
    equal(code_of(answer.header), "OK")
    return bytes(answer.fileContents.contents)


@case(f"{APPEND}; {UPDATE}")
def contents_of_a_file(network: Network) -> None:
    """A file has what was written to it: appended, or in place of the former content."""
    file = create(network)
    network.done(about(network, "fileAppend", file, contents=b" two"), ISSUER)
    equal(contents(network, file), b"one two")
    network.done(about(network, "fileUpdate", file, contents=b"three"), ISSUER)
    equal(contents(network, file), b"three")


@case(UPDATE)
def a_file_without_a_signature(network: Network) -> None:
    """A file's keys sign its changes."""
    file = create(network)
    for kind in ("fileAppend", "fileUpdate"):
        body = about(network, kind, file, contents=b"two")
        equal(network.submit(body).code, "INVALID_SIGNATURE")


@case(DELETE)
def a_deleted_file(network: Network) -> None:
    """A deleted file is refused as FILE_DELETED; its information says so."""
    file = create(network)
    network.done(about(network, "fileDelete", file), ISSUER)
    body = about(network, "fileAppend", file, contents=b"two")
    equal(network.submit(body, ISSUER).code, "FILE_DELETED")
    answer = network.ask("fileGetInfo", fileID=file)
    equal([code_of(answer.header), answer.fileInfo.deleted], ["OK", True])


@refused("UNAUTHORIZED", APPEND)
def an_immutable_file(network: Network) -> object:
    """Without keys, a file stays as it is."""
    return about(network, "fileAppend", network.once(immutable), contents=b"two")


@refused("UNAUTHORIZED", DELETE)
def a_deletion_of_an_immutable_file(network: Network) -> object:
    """Without keys, a file is never deleted."""
    return about(network, "fileDelete", network.once(immutable))


@refused("INVALID_FILE_ID", APPEND)
def a_file_that_nobody_has(network: Network) -> object:
    """A file exists."""
    return about(network, "fileAppend", FileID(fileNum=2**32 - 1), contents=b"two")


@case("FileGetContentsHandler of hiero-consensus-node")
def a_query_for_a_file_that_nobody_has(network: Network) -> None:
    """A query for an unknown file is INVALID_FILE_ID."""
    answer = network.ask("fileGetContents", fileID=FileID(fileNum=2**32 - 1))
    equal(code_of(answer.header), "INVALID_FILE_ID")


@case("exchange_rate.proto; file 0.0.112")
def the_exchange_rates(network: Network) -> None:
    """File 0.0.112 has the exchange rates, which receipts and the mirror node show, too."""
    rates = ExchangeRateSet.FromString(contents(network, RATES))
    current = rates.currentRate
    holds(current.centEquiv > 0 and current.hbarEquiv > 0, f"the rate is {current}")
    shown = network.get("/network/exchangerate").body["current_rate"]
    expected = {"cent_equivalent": current.centEquiv, "hbar_equivalent": current.hbarEquiv}
    equal({name: shown[name] for name in expected}, expected)
