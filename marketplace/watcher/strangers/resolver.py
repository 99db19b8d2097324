"""Reads the content of a metadata pointer or an image's URI, in any of its forms."""

import json
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.ledger.deadline import Deadline
from marketplace.ledger.http_client import FetchError, Unfetchable
from marketplace.ledger.mirror import MirrorNode
from marketplace.watcher.found import Description
from marketplace.watcher.strangers import inscriptions
from marketplace.watcher.strangers.guarded_fetch import Address, Fetcher
from marketplace.watcher.strangers.metadata import describe
from marketplace.watcher.strangers.uri import Gateways, Inline, Inscription, TopicMessage, Web

MAX_DOCUMENT_BYTES = 1024 * 1024
NEXT_GATEWAY_SECONDS = 1.5  # without an answer, before the next gateway is asked, too


class Resolver:
    """Reads the content of URIs. If there are several gateways, the first answer counts."""

    def __init__(self, fetcher: Fetcher, mirror_node: MirrorNode, gateways: Gateways) -> None:
        self._fetcher = fetcher
        self._mirror_node = mirror_node
        self._gateways = gateways

    def describe(self, pointer: str, deadline: Deadline) -> Description:
        """Read the metadata that a pointer holds or leads to. Raises FetchError with the reason."""
        try:
            is_document = pointer.startswith("{")  # no address does
            content = pointer if is_document else self.fetch(pointer, MAX_DOCUMENT_BYTES, deadline)
            document = json.loads(content, parse_constant=lambda name: None)  # NaN is not JSON
        except (ValueError, RecursionError):
            raise Unfetchable("the metadata is not JSON") from None
        if not isinstance(document, dict):
            raise Unfetchable("the metadata is not a JSON object")
        return describe(document)

    def fetch(self, uri: str, max_bytes: int, deadline: Deadline) -> bytes:
        """Read the content of a URI. Raises FetchError with the reason."""
        try:
            match self._gateways.locate(uri):
                case Web(addresses):
                    return self._fetch_first(addresses, max_bytes, deadline)
                case Inline(content):
                    return content[:max_bytes]
                case Inscription(topic):
                    return self._fetch_inscription(topic, max_bytes, deadline)
                case TopicMessage(timestamp):
                    return self._fetch_message(timestamp, deadline)
            raise Unfetchable("it is not an address")
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            raise FetchError(error.message) from error

    def browser_url(self, uri: str) -> str | None:
        """The address that a browser can open, or None if there is none."""
        location = self._gateways.locate(uri)
        if isinstance(location, Web) and location.addresses:
            return location.addresses[0].url
        return None

    def _fetch_first(
        self, addresses: tuple[Address, ...], max_bytes: int, deadline: Deadline
    ) -> bytes:
        """Return the first content. If an address does not answer soon, the next one is asked, too."""
        pool = ThreadPoolExecutor(len(addresses), thread_name_prefix="fetch")
        unasked = list(addresses)
        pending: set[Future[bytes]] = set()
        failures: list[BaseException] = []
        try:
            while unasked or (pending and deadline.left):
                if unasked:
                    address = unasked.pop(0)
                    pending.add(pool.submit(self._fetch_one, address, max_bytes, deadline))
                timeout = NEXT_GATEWAY_SECONDS if unasked else deadline.left
                done, pending = wait(pending, min(timeout, deadline.left), FIRST_COMPLETED)
                for future in done:
                    if not (failure := future.exception()):
                        return future.result()
                    failures.append(failure)
        finally:
            pool.shutdown(wait=False)  # the others end at their deadline, or with the process
        raise failures[0] if failures else FetchError("it took too long")

    def _fetch_one(self, address: Address, max_bytes: int, deadline: Deadline) -> bytes:
        answer = self._fetcher.get(address, max_bytes=max_bytes, deadline=deadline)
        if answer.status != 200:
            raise FetchError(f"status {answer.status}")
        return answer.content

    def _fetch_inscription(self, topic: str, max_bytes: int, deadline: Deadline) -> bytes:
        memo = self._mirror_node.find_topic_memo(topic, deadline)
        if memo is None:
            raise Unfetchable("its topic does not exist")
        messages = self._mirror_node.list_messages(topic, deadline)
        return inscriptions.join(memo, messages, max_bytes)

    def _fetch_message(self, timestamp: str, deadline: Deadline) -> bytes:
        message = self._mirror_node.find_message(timestamp, deadline)
        if message is None:
            raise Unfetchable("its message does not exist")
        return message
