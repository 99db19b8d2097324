"""What the rows of a spec's database have: ids, ranges of time, bytes and keys; and how they are written."""

import base64
from typing import Any

from google.protobuf.message import DecodeError
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

from hiero_sandbox.ledger import keys, queries
from hiero_sandbox.mirror.parameters import to_id
from hiero_sandbox.storage import Connection

Row = dict[str, Any]


class Inexpressible(Exception):
    """The ledger can't hold this."""


def to_entity(value: Any) -> str | None:
    """An id as the ledger writes it: of 1001, "1001" or "0.0.1001"."""
    if value is None:
        return None
    text = str(value)
    if "." not in text:
        return to_id(int(text))
    return ".".join([*["0"] * (2 - text.count(".")), text])


def id_of(row: Row) -> str | None:
    shard, realm = row.get("shard", 0), row.get("realm", 0)
    return f"{shard}.{realm}.{row.get('num') or row.get('id') or 0}"


def is_current(row: Row) -> bool:
    return str(row.get("timestamp_range") or "[0,)").endswith(",)")


def since(row: Row, otherwise: int = 0) -> int:
    """The lower bound of a row's range of time: of "[5,)"."""
    given = row.get("timestamp_range")
    return int(given[1:].split(",")[0] or 0) if given else otherwise


def write(db: Connection, moment: int, table: str, **columns: Any) -> None:
    db.execute("UPDATE clock SET now = ?", (moment,))
    queries.put(db, table, **columns)


def read_key(content: Any) -> Key | None:
    """A key of HAPI's bytes, as a list or in hexadecimal; None if they are not those of a key."""
    try:
        encoded = read_bytes(content)
        key = Key.FromString(encoded)
    except (DecodeError, TypeError, ValueError):
        return None
    is_key = key.WhichOneof("key") is not None and key.SerializeToString() == encoded
    return key if is_key else None


def public_key(text: str | None) -> Key | None:
    try:
        content = read_bytes(text)
    except (TypeError, ValueError):
        return None
    return keys.of_bytes(content[-33:] if len(content) == 33 else content[-32:])


def read_bytes(content: Any) -> bytes:
    """Bytes that a spec has as a list, signed or not, in hexadecimal, or in base64."""
    if not isinstance(content, str):
        return bytes(each & 0xFF for each in content)
    try:
        return bytes.fromhex(content.removeprefix("0x"))
    except ValueError:
        return base64.urlsafe_b64decode(content)
