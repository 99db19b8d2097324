"""The metadata and image found for an NFT, and the message that carries them to the watcher.

A message is a line of JSON, followed by the image, and by the small image. This module imports no image
library.
"""

import enum
import json
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

MAX_KEPT_BYTES = 2_000_000  # of an image after it was made small
# A document has 1 MiB at most. It may be one data: URI, which is in a message twice, with its escapes.
MAX_MESSAGE_BYTES = MAX_KEPT_BYTES + 8 * 1024 * 1024

# How a process ends by a signal that no stranger causes: the system is out of memory, or is stopping us.
ENDED_BY_OTHERS = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP)

MakeAdapters = Callable[[], Mapping[str, "BaseAdapter"]]


class Description(NamedTuple):
    """The fields of a metadata document, ready to be stored. A missing field is None."""

    name: str | None = None
    file_type: str | None = None
    attributes: str | None = None
    image: str | None = None
    unranked: str | None = None
    # Of a collection: JSON text of {"description", "banner", "logo", "links": [{"label", "url"}]}.
    collection: str | None = None


class Optimised(NamedTuple):
    """A WebP ready to be served, the actual MIME type of the original, and a smaller WebP of a large one."""

    content: bytes
    file_type: str
    small: bytes | None = None


class Limits(NamedTuple):
    """Seconds to fetch metadata and image together, and seconds of processor time to decode the image."""

    fetching: float
    decoding: int

    @property
    def decoder_timeout(self) -> float:
        """Seconds until a decoder is killed, including time that it waited for the processor."""
        return 3 * self.decoding + 2


QUICK, LONG = Limits(2, 1), Limits(15, 5)


class Outcome(enum.StrEnum):
    """The outcome of reading an NFT's metadata and image."""

    COMPLETE = "made"
    UNUSABLE = "unusable"  # probably final
    UNREACHABLE = "unreachable"  # probably temporary
    SLOW = "slow"  # it may succeed within the limits LONG
    BUSY = "busy"  # because of this machine


class EnrichmentResult(NamedTuple):
    """The metadata and the image that were found."""

    outcome: Outcome
    reason: str | None = None  # why something is missing
    description: Description | None = None
    original_url: str | None = None  # of the image, for a browser
    image: Optimised | None = None

    def with_image_of(self, decoded: "EnrichmentResult") -> "EnrichmentResult":
        """This metadata with a decoder's image. The decoder's other fields are ignored."""
        return self._replace(outcome=decoded.outcome, reason=decoded.reason, image=decoded.image)


# Finds the metadata and the image of an NFT by its pointer, such as EnrichmentProcesses.enrich.
Enrich = Callable[[str, Limits], EnrichmentResult]


def write_message(result: EnrichmentResult) -> bytes:
    content, file_type, small = result.image or (b"", None, None)
    header = json.dumps([*result[:4], file_type, len(content)])
    return header.encode() + b"\n" + content + (small or b"")


def read_message(message: bytes) -> EnrichmentResult:
    """Raises ValueError or TypeError."""
    header, _, images = message.partition(b"\n")
    outcome, reason, description, url, file_type, length = json.loads(header)
    content, small = images[:length], images[length:]
    return EnrichmentResult(
        Outcome(outcome),
        reason,
        description and Description(*description),
        url,
        Optimised(content, file_type, small or None) if content else None,
    )
