"""Every metric that is counted: its name, its kind, its labels, and what it tells an operator."""

from typing import NamedTuple

# Seconds: the upper bounds of a histogram's buckets.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metric(NamedTuple):
    """A counter grows; a histogram counts and adds up seconds."""

    kind: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """The count of its numbers: a histogram has its buckets, the one beyond, and the sum."""
        return len(BUCKETS) + 2 if self.kind == "histogram" else 1


METRICS = {
    "request_duration_seconds": Metric(
        "histogram",
        "Requests, and the time until their answers began",
        ("method", "route", "status"),
    ),
    "writes_refused": Metric("counter", "POST requests refused at once: too many were under way"),
    "requests_limited": Metric("counter", "Requests refused: their limit was reached", ("by",)),
    "kept_answers_asked": Metric(
        "counter", "Reads, by whether a kept answer was given (hit) or not (miss)", ("outcome",)
    ),
    "mirror_node_requests": Metric(
        "counter",
        "Requests to the mirror node: 2xx, 4xx, 429, 5xx, or silent without an answer",
        ("outcome",),
    ),
    "mirror_node_nonsense": Metric("counter", "Answers of the mirror node that made no sense"),
    "mirror_node_retries": Metric("counter", "Requests to the mirror node that were tried again"),
    "mirror_node_wait_seconds": Metric("counter", "Time waited for a turn at the mirror node"),
    "sweep_found": Metric("counter", "NFTs that a sweep found changed, and following had not"),
    "purchases": Metric(
        "counter", "Purchases asked for: signed, or why not, by the name of the error", ("outcome",)
    ),
    "images": Metric(
        "counter", "Tries for an NFT's metadata and image, by what became of them", ("outcome",)
    ),
    "webhook_deliveries": Metric(
        "counter",
        "Messages to webhooks: delivered, refused by another status, or silent without an answer",
        ("outcome",),
    ),
}
