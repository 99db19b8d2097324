"""Files: their contents, and the transactions that create, append to, update and delete them.

The order of the checks and the result codes are the network's: the handlers of the file service in
https://github.com/hiero-ledger/hiero-consensus-node. Nobody changes the network's own files here.
"""

from decimal import Decimal
from typing import Any, NamedTuple

from hiero_sdk_python.hapi.services.basic_types_pb2 import FileID, Key, KeyList
from hiero_sdk_python.hapi.services.file_append_pb2 import FileAppendTransactionBody
from hiero_sdk_python.hapi.services.file_create_pb2 import FileCreateTransactionBody
from hiero_sdk_python.hapi.services.file_delete_pb2 import FileDeleteTransactionBody
from hiero_sdk_python.hapi.services.file_update_pb2 import FileUpdateTransactionBody
from hiero_sdk_python.hapi.services.timestamp_pb2 import Timestamp

from hiero_sandbox import times
from hiero_sandbox.ids import numbers
from hiero_sandbox.ledger import queries
from hiero_sandbox.ledger.account_transactions import RENEWAL_SECONDS, read_expiry, require_memo
from hiero_sandbox.ledger.envelopes import Refused, refuse_if
from hiero_sandbox.ledger.execution import Execution, Handler, entity
from hiero_sandbox.ledger.network_fees import Fee, of_contents
from hiero_sandbox.storage import Connection

Named = FileAppendTransactionBody | FileUpdateTransactionBody | FileDeleteTransactionBody
MAX_BYTES = 1024 * 1024
LAST_SYSTEM_NUMBER = 1000  # files up to this number are the network's
UNKNOWN, RENEWAL = "INVALID_FILE_ID", "AUTORENEW_DURATION_NOT_IN_RANGE"


class File(NamedTuple):
    """A file. Its contents are all parts since a time, so that a version of it is small."""

    file_id: str
    keys: KeyList  # all of them sign a change, one of them a deletion; without any it is immutable
    memo: str
    expires_at: int  # nanoseconds; nothing happens then
    contents_since: int
    is_deleted: int = 0


def find(db: Connection, named: FileID) -> File:
    """Find a file, deleted or not. Refuses an id of none."""
    row = queries.get(db, "file", file_id=entity(named, UNKNOWN))
    if row is None:
        raise Refused(UNKNOWN)
    return File(**dict(row) | {"keys": KeyList.FromString(row["keys"])})


def contents(db: Connection, file: File) -> bytes:
    return b"".join(queries.list_file_parts(db, file.file_id, file.contents_since))


def _put(db: Connection, file: File, **changes: Any) -> None:
    changed = file._replace(**changes)
    queries.put(db, "file", **changed._asdict() | {"keys": changed.keys.SerializeToString()})


def _add(execution: Execution, file: File, part: bytes) -> None:
    refuse_if(len(contents(execution.db, file)) + len(part) > MAX_BYTES, "MAX_FILE_SIZE_EXCEEDED")
    columns = {"consensus_at": execution.now, "content": part}
    queries.put(execution.db, "file_part", file_id=file.file_id, **columns)


def check_create(content: FileCreateTransactionBody) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.HasField("expirationTime"), "INVALID_EXPIRATION_TIME")


def create(execution: Execution, content: FileCreateTransactionBody) -> None:
    _require_keys(execution, content.keys)
    try:
        expires_at = read_expiry(execution, content.expirationTime)
    except Refused:
        raise Refused(RENEWAL) from None
    require_memo(content.memo)
    file_id = queries.new_id(execution.db)
    made = File(file_id, content.keys, content.memo, expires_at, contents_since=execution.now)
    _add(execution, made, content.contents)
    _put(execution.db, made)
    shard, realm, number = numbers(file_id)
    created = FileID(shardNum=shard, realmNum=realm, fileNum=number)
    execution.effects.record.receipt.fileID.CopyFrom(created)


def _require_keys(execution: Execution, keys: KeyList) -> None:
    for key in keys.keys:
        execution.require_key(key)


def check_named(
    content: Named,
) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.HasField("fileID"), UNKNOWN)


def check_change(content: FileAppendTransactionBody | FileUpdateTransactionBody) -> None:
    """Check what a node checks before consensus: the network's files have other owners."""
    check_named(content)
    refuse_if(_is_networks(content.fileID), "AUTHORIZATION_FAILED")


def check_delete(content: FileDeleteTransactionBody) -> None:
    """Check what a node checks before consensus."""
    check_named(content)
    refuse_if(_is_networks(content.fileID), "ENTITY_NOT_ALLOWED_TO_DELETE")


def _is_networks(named: FileID) -> bool:
    return 0 < int(named.fileNum) <= LAST_SYSTEM_NUMBER


def append(execution: Execution, content: FileAppendTransactionBody) -> None:
    file = find(execution.db, content.fileID)
    _require_keys(execution, file.keys)
    refuse_if(not file.keys.keys, "UNAUTHORIZED")
    refuse_if(file.is_deleted, "FILE_DELETED")
    _add(execution, file, content.contents)


def update(execution: Execution, content: FileUpdateTransactionBody) -> None:
    """Change a file. Everybody may let it live longer."""
    file = find(execution.db, content.fileID)
    longer = FileUpdateTransactionBody(fileID=content.fileID)
    if content.HasField("expirationTime"):
        longer.expirationTime.CopyFrom(content.expirationTime)
    is_more = content != longer
    if is_more:
        _require_keys(execution, file.keys)
        _require_keys(execution, content.keys)
    refuse_if(file.is_deleted, "FILE_DELETED")
    refuse_if(is_more and not file.keys.keys, "UNAUTHORIZED")
    require_memo(content.memo.value)
    changes: dict[str, Any] = {}
    if content.HasField("expirationTime"):
        expires_at = _read_extension(execution, content.expirationTime)
        changes["expires_at"] = max(expires_at, file.expires_at)
    if content.HasField("keys"):
        changes["keys"] = content.keys
    if content.HasField("memo"):
        changes["memo"] = content.memo.value
    if content.contents:
        changes["contents_since"] = execution.now
        _add(execution, file._replace(contents_since=execution.now), content.contents)
    _put(execution.db, file, **changes)


def _read_extension(execution: Execution, expiry: Timestamp) -> int:
    """A later expiry, in nanoseconds. It is counted from the valid start (FileUpdateHandler)."""
    refuse_if(expiry.seconds - execution.id.seconds not in RENEWAL_SECONDS, RENEWAL)
    return int(expiry.seconds) * times.SECOND


def delete(execution: Execution, content: FileDeleteTransactionBody) -> None:
    file = find(execution.db, content.fileID)
    refuse_if(not file.keys.keys, "UNAUTHORIZED")
    execution.require_key(Key(thresholdKey={"threshold": 1, "keys": file.keys}))
    refuse_if(file.is_deleted, "FILE_DELETED")
    # No part is that new.
    _put(execution.db, file, is_deleted=1, contents_since=execution.now)


UPDATE = Fee(Decimal("0.05"), included_keys=1, further=of_contents)
HANDLERS = {
    "fileAppend": Handler(
        append,
        check_change,
        Fee(Decimal("0.05"), further=of_contents, has_high_volume=True),
        about="fileID",
    ),
    "fileCreate": Handler(
        create, check_create, UPDATE._replace(has_high_volume=True), creates="fileID"
    ),
    "fileDelete": Handler(delete, check_delete, Fee(Decimal("0.007")), about="fileID"),
    "fileUpdate": Handler(update, check_change, UPDATE, about="fileID"),
}
