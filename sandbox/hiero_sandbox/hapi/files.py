"""HAPI's queries about files: those of transactions, and the network's own."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import FileID, KeyList
from hiero_sdk_python.hapi.services.file_get_contents_pb2 import (
    FileGetContentsQuery,
    FileGetContentsResponse,
)
from hiero_sdk_python.hapi.services.file_get_info_pb2 import FileGetInfoQuery, FileGetInfoResponse

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.hapi import fee_schedules, network
from hiero_sandbox.ledger import files, genesis, keys, network_fees
from hiero_sandbox.ledger.envelopes import write_id
from hiero_sandbox.messages import timestamp

LIFE_SECONDS = 8_000_001
# The network's files that SDKs read: addresses, nodes, fees (the former schedule, too) and exchange rates.
# Release 0.79 drops 0.0.111: https://github.com/hiero-ledger/hiero-consensus-node/pull/26487
NETWORKS = {
    "0.0.101": network.address_book,
    "0.0.102": network.address_book,
    "0.0.111": fee_schedules.former,
    "0.0.112": lambda now: network_fees.exchange_rate(read(), now),
    "0.0.113": fee_schedules.current,
}


def find_contents(query: FileGetContentsQuery, response: FileGetContentsResponse, now: int) -> None:
    response.fileContents.contents = _read(query.fileID, now)
    response.fileContents.fileID.CopyFrom(query.fileID)


def _read(named: FileID, now: int) -> bytes:
    if make := NETWORKS.get(write_id(named)):
        return bytes(make(now).SerializeToString())
    return files.contents(read(), files.find(read(), named))


def find_info(query: FileGetInfoQuery, response: FileGetInfoResponse, now: int) -> None:
    info = response.fileInfo
    info.size = len(_read(query.fileID, now))
    info.fileID.CopyFrom(query.fileID)
    if write_id(query.fileID) in NETWORKS:
        operator = genesis.known_accounts()[0].public_key
        info.keys.CopyFrom(KeyList(keys=[keys.of_bytes(operator)]))
        info.expirationTime.CopyFrom(timestamp(now + LIFE_SECONDS * times.SECOND))
        return
    found = files.find(read(), query.fileID)
    if found.keys.keys:
        info.keys.CopyFrom(found.keys)
    info.memo, info.deleted = found.memo, bool(found.is_deleted)
    info.expirationTime.CopyFrom(timestamp(found.expires_at))
