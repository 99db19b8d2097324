"""Reads HCS-1 files from the messages of a topic: joins, decompresses and checks them.

An HCS-6 topic is a registry: its newest message names the HCS-1 topic of a file that may be replaced.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator

import brotli
import zstandard

from marketplace.hedera.ids import is_entity_id
from marketplace.ledger.http import FetchError, Unfetchable
from marketplace.ledger.objects import Message

REGISTRY = "hcs-6"
MEMO = re.compile(r"([0-9a-f]{64}):(zstd|brotli):base64")


def is_registry(memo: str) -> bool:
    """Tell whether the topic with this memo is a registry."""
    return memo.lower().startswith(f"{REGISTRY}:")


def join_parts(rows: Iterable[Message]) -> Iterator[bytes]:
    """Yield the messages in a topic's rows. A split message is yielded once all parts are joined."""
    unfinished: dict[tuple[str, int], dict[int, bytes]] = {}
    for content, _, part in rows:
        if part is None or part.total == 1:
            yield content
        elif part.number <= part.total:
            parts = unfinished.setdefault(part.message, {})
            parts.setdefault(part.number, content)
            if len(parts) == part.total:
                yield b"".join(parts[number] for number in sorted(parts))
                del unfinished[part.message]


def find_registered(message: bytes) -> str | None:
    """The topic that a registry's message names, {"p": "hcs-6", "op": "register", "t_id": topic}; or None."""
    try:
        entry = json.loads(message)
        is_entry = entry["p"] == REGISTRY and entry["op"] in ("register", 0)
        return entry["t_id"] if is_entry and is_entity_id(entry["t_id"]) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # anybody may write to a topic


def join(memo: str, messages: Iterable[bytes], max_bytes: int) -> bytes:
    """Make the file of a topic from the topic's memo and its messages. Raises FetchError with the reason."""
    match = MEMO.fullmatch(memo)
    if not match:
        raise Unfetchable("its topic is not an inscription")
    compressed = _join_chunks(messages, max_bytes)
    try:
        content = _decompress(match[2], compressed, max_bytes)
    except (zstandard.ZstdError, brotli.error) as error:
        raise Unfetchable("the inscription is damaged") from error
    if hashlib.sha256(content).hexdigest() != match[1]:
        raise Unfetchable("the inscription does not have the hash that its topic names")
    return content


def _join_chunks(messages: Iterable[bytes], max_bytes: int) -> bytes:
    """Join the chunks, each JSON {"o": order, "c": text}, to a data URI, and return its content."""
    chunks: dict[int, str] = {}
    size = 0
    for message in messages:
        try:
            chunk = json.loads(message)
            order, content = chunk["o"], chunk["c"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # anybody may write to a topic
        if type(order) is int and isinstance(content, str) and order not in chunks:
            chunks[order] = content
            size += len(content)
        if size > 2 * max_bytes:
            raise Unfetchable(f"the inscription is larger than {max_bytes} bytes")
    uri = "".join(chunks[order] for order in sorted(chunks))
    try:
        return base64.b64decode(uri.partition(";base64,")[2] or uri)
    except ValueError:
        raise FetchError("the inscription is not complete") from None


def _decompress(algorithm: str, compressed: bytes, max_bytes: int) -> bytes:
    if algorithm == "zstd":
        decompressor = zstandard.ZstdDecompressor(max_window_size=2**27)
        content = decompressor.stream_reader(compressed).read(max_bytes + 1)
    else:
        content = brotli.Decompressor().process(compressed, output_buffer_limit=max_bytes + 1)
    if len(content) > max_bytes:
        raise Unfetchable(f"the inscription is larger than {max_bytes} bytes")
    return content
