"""Every counter and histogram: its name, its kind, its help text and its labels."""

from typing import NamedTuple

# Seconds: the upper bounds of a histogram's buckets.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metric(NamedTuple):
    """A counter, or a histogram of seconds."""

    kind: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """How many numbers it has: a histogram has one for each bucket, the +Inf bucket and the sum."""
        return len(BUCKETS) + 2 if self.kind == "histogram" else 1


METRICS = {
    "request_duration_seconds": Metric(
        "histogram",
        "Requests, and the time until their responses began",
        ("method", "route", "status"),
    ),
    "writes_refused": Metric("counter", "POST requests refused: too many were in progress"),
    "requests_limited": Metric(
        "counter", "Requests answered 429, by the limit that was reached", ("by",)
    ),
    "response_cache_requests": Metric(
        "counter", "Reads: answered from the response cache (hit), or not (miss)", ("outcome",)
    ),
    "mirror_node_requests": Metric(
        "counter",
        "Requests to the mirror node: 2xx, 4xx, 429, 5xx, or silent (no answer)",
        ("outcome",),
    ),
    "mirror_node_invalid_answers": Metric("counter", "Invalid answers of the mirror node"),
    "mirror_node_retries": Metric("counter", "Requests to the mirror node that were tried again"),
    "mirror_node_wait_seconds": Metric("counter", "Time waited because of MIRROR_NODE_RATE"),
    "sweep_found": Metric("counter", "Changed NFTs that a sweep found and following did not"),
    "purchases": Metric(
        "counter", "Purchase requests: signed, or the name of the error", ("outcome",)
    ),
    "images": Metric(
        "counter", "Attempts to read an NFT's metadata and image, by result", ("outcome",)
    ),
    "webhook_deliveries": Metric(
        "counter", "Messages to webhooks: delivered, or failed and tried again", ("outcome",)
    ),
}
