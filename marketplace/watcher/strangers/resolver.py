"""Reads the content of a metadata pointer or an image's URI, in any of its forms."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message as Headers
from itertools import islice
from typing import NamedTuple, TypeVar

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.ledger.http import FetchError, Unfetchable, find_host
from marketplace.ledger.mirror import MirrorNode
from marketplace.ledger.objects import Message
from marketplace.ledger.rate import Deadline, TimeIsUp
from marketplace.watcher.enrichment_result import Description
from marketplace.watcher.strangers import inscriptions
from marketplace.watcher.strangers.content import (
    MAX_IMAGE_BYTES,
    Content,
    is_picture,
    read_image,
    read_object,
)
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher
from marketplace.watcher.strangers.metadata import describe
from marketplace.watcher.strangers.uri import Gateways, Inline, Inscription, TopicMessage, Web

FIRST_GATEWAY_SECONDS = 1.5  # for one gateway at least, before the next one is asked
SILENT_SECONDS = 60  # for which a gateway is asked last
NOT_THERE = (404, 410)
MAX_CONTENT_TYPE = 1000  # characters, as a longer one takes long to parse
MAX_VERSIONS = 100  # the newest rows of an HCS-6 topic, of which one must name a file
AT_ONCE = 1e-6  # seconds: 0 would set no timer
AGAIN = 1.0  # second: Python ignores what is raised while it collects garbage
MAX_ROWS = 1000  # of a topic, among which are the parts of a single message

T = TypeVar("T")
# Parses a host's content. Raises FetchError for unusable content.
Read = Callable[[Content], T]


class NotThere(FetchError):
    """A host answered that it has nothing at an address."""


class Metadata(NamedTuple):
    """What a pointer leads to: a description, or the image itself."""

    description: Description
    image: bytes | None = None


class Resolver:
    """Reads the content of URIs. With several gateways, the first usable answer counts."""

    def __init__(self, fetcher: Fetcher, mirror_node: MirrorNode, gateways: Gateways) -> None:
        self._fetcher = fetcher
        self._mirror_node = mirror_node
        self._gateways = gateways
        self._silent_until: dict[str, float] = {}  # by a gateway's host

    def read_metadata(self, pointer: str, deadline: Deadline) -> Metadata:
        """Read the metadata that a pointer holds or leads to. Raises FetchError with the reason."""
        if pointer.startswith("{"):  # no address does
            return Metadata(describe(read_object(Content(pointer.encode(errors="ignore")))))
        metadata = self.fetch(pointer, deadline, _read_metadata)
        return (
            metadata
            if metadata.image is None
            else Metadata(Description(image=pointer), metadata.image)
        )

    def read_image(self, uri: str, deadline: Deadline) -> bytes:
        """Read an image. Raises FetchError with the reason."""
        return self.fetch(uri, deadline, read_image)

    def fetch(self, uri: str, deadline: Deadline, read: Read[T]) -> T:
        """Read the content of a URI. Raises FetchError with the reason."""
        try:
            match self._gateways.locate(uri):
                case Web(addresses):
                    return self._fetch_first(addresses, deadline, read)
                case Inline(content, charset):
                    return read(Content(content[:MAX_IMAGE_BYTES], charset))
                case Inscription(topic):
                    return read(Content(self._fetch_inscription(topic, deadline)))
                case TopicMessage(timestamp):
                    return read(Content(self._fetch_message(timestamp, deadline)))
            raise Unfetchable("it is not an address")
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            raise FetchError(error.message) from error

    def browser_url(self, uri: str) -> str | None:
        """The address that a browser can open, or None if there is none."""
        location = self._gateways.locate(uri)
        if isinstance(location, Web) and location.addresses:
            return location.addresses[0].url
        return None

    def _fetch_first(self, addresses: tuple[Address, ...], deadline: Deadline, read: Read[T]) -> T:
        """Return the first usable content. Raises FetchError with the most telling reason.

        The error is final only if all failures are. Gateways share the time; a silent one is asked last.
        """
        failures: list[FetchError] = []
        in_order = sorted(addresses, key=self._was_silent)
        for left, address in zip(range(len(addresses), 0, -1), in_order, strict=True):
            own = Deadline(min(deadline.left, max(deadline.left / left, FIRST_GATEWAY_SECONDS)))
            try:
                with interrupt_at(own):
                    return self._fetch_one(address, own, read)
            except TimeIsUp:
                failures.append(FetchError("it took too long"))
            except FetchError as error:
                failures.append(error)
            if not own.left:
                self._silent_until[find_host(address.url)] = time.monotonic() + SILENT_SECONDS
            if not deadline.left:
                break
        is_final = all(isinstance(failure, Unfetchable) for failure in failures)
        reason = str(min(failures, key=_weigh))
        raise Unfetchable(reason) if is_final else FetchError(reason)

    def _was_silent(self, address: Address) -> bool:
        return self._silent_until.get(find_host(address.url), 0) > time.monotonic()

    def _fetch_one(self, address: Address, deadline: Deadline, read: Read[T]) -> T:
        answer = self._fetcher.get(address, max_bytes=MAX_IMAGE_BYTES, deadline=deadline)
        if answer.status in NOT_THERE:
            raise NotThere(f"status {answer.status}")
        if answer.status != 200:
            raise FetchError(f"status {answer.status}")
        return read(Content(answer.content, _find_charset(answer.headers)))

    def _fetch_inscription(self, topic: str, deadline: Deadline) -> bytes:
        memo = self._mirror_node.find_topic_memo(topic, deadline)
        if memo and inscriptions.is_registry(memo):
            topic = self._find_version(topic, deadline)
            memo = self._mirror_node.find_topic_memo(topic, deadline)
        if memo is None:
            raise Unfetchable("its topic does not exist")
        rows = self._mirror_node.list_messages(topic, deadline)
        return inscriptions.join(memo, inscriptions.join_parts(rows), MAX_IMAGE_BYTES)

    def _find_version(self, registry: str, deadline: Deadline) -> str:
        """The topic of the newest file that an HCS-6 topic names."""
        newest = self._mirror_node.list_messages(registry, deadline, newest_first=True)
        messages = inscriptions.join_parts(islice(newest, MAX_VERSIONS))
        topics = map(inscriptions.find_registered, messages)
        topic = next(filter(None, topics), None)
        if topic is None:
            raise FetchError("its topic names no file")
        return topic

    def _fetch_message(self, timestamp: str, deadline: Deadline) -> bytes:
        row = self._mirror_node.find_message(timestamp, deadline)
        if row is None:
            raise Unfetchable("its message does not exist")
        message = self._join_parts(row, deadline)
        topic = inscriptions.find_registered(message)
        return self._fetch_inscription(topic, deadline) if topic else message

    def _join_parts(self, row: Message, deadline: Deadline) -> bytes:
        """The whole message that a row may be any part of."""
        if row.part is None or row.topic is None or row.part.total == 1:
            return row.content
        since = row.part.valid_start  # no part is older
        rows = islice(self._mirror_node.list_messages(row.topic, deadline, since=since), MAX_ROWS)
        parts = (other for other in rows if other.part and other.part.message == row.part.message)
        message = next(inscriptions.join_parts(parts), None)
        if message is None:
            raise FetchError("its message is not complete")
        return message


def _weigh(failure: FetchError) -> int:
    """A failure's rank: a possibly temporary one comes before a final one, and that before a 404."""
    return 2 if isinstance(failure, NotThere) else int(isinstance(failure, Unfetchable))


def _find_charset(headers: Mapping[str, str]) -> str | None:
    message = Headers()
    message["Content-Type"] = headers.get("Content-Type", "")[:MAX_CONTENT_TYPE]
    return message.get_content_charset()


def _read_metadata(content: Content) -> Metadata:
    if is_picture(content.body):
        return Metadata(Description(), content.body)
    description = describe(read_object(content))
    if description == Description():
        raise Unfetchable("the metadata has nothing that is shown")
    return Metadata(description)


@contextmanager
def interrupt_at(deadline: Deadline) -> Iterator[None]:
    """Raise TimeIsUp in the block when the deadline passes. Only a reader's main thread can be interrupted.

    A host that sends headers byte by byte outlasts every timeout.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGALRM, _raise)
    try:
        signal.setitimer(signal.ITIMER_REAL, deadline.left or AT_ONCE, AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _raise(*_: object) -> None:
    raise TimeIsUp
