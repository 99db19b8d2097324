"""Makes one image small, in a process of its own, which the watcher starts.

    python -m marketplace.watcher.strangers.decoder SECONDS PARENT

The image is its standard input. Its answer, a message of enrichment_result.py, goes to its standard
output. SECONDS limits its processor time, its start included. PARENT is the process that started it.
"""

import sys
import warnings

from marketplace.watcher.enrichment_result import (
    MAX_MESSAGE_BYTES,
    EnrichmentResult,
    Outcome,
    write_message,
)
from marketplace.watcher.strangers import confine
from marketplace.watcher.strangers.images import ImageUnusable, optimise


def decode(content: bytes) -> EnrichmentResult:
    try:
        return EnrichmentResult(Outcome.COMPLETE, image=optimise(content))
    except ImageUnusable as error:
        return EnrichmentResult(Outcome.UNUSABLE, str(error))


if __name__ == "__main__":
    seconds, parent = map(int, sys.argv[1:])
    warnings.simplefilter("ignore")  # Pillow's, about a stranger's image
    confine.limit()
    confine.confine(seconds, MAX_MESSAGE_BYTES, parent)
    sys.stdout.buffer.write(write_message(decode(sys.stdin.buffer.read())))
