"""GET /metrics, for Prometheus: the counts of this machine, and figures of the database."""

import hashlib
import threading
import time
from collections.abc import Iterator
from functools import wraps
from itertools import accumulate
from typing import cast

from flask import Response, current_app, request
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from marketplace import __version__, times
from marketplace.api.authentication import require_scope
from marketplace.api.blueprint import Blueprint, View
from marketplace.counts import Numbers
from marketplace.counts.table import BUCKETS, METRICS
from marketplace.errors import (
    DatabaseBusy,
    DatabaseUnreachable,
    DatabaseUnusable,
    StartRefused,
)
from marketplace.market import freshness
from marketplace.market.purchase_fees import find_fees, find_noted_balance
from marketplace.services import services
from marketplace.store import following, nfts, prepared_transactions, properties
from marketplace.store.database import read
from marketplace.store.database_errors import explained
from marketplace.store.rows import Connection

PREFIX = "marketplace_"
ASKED_SECONDS = 15  # for so long the figures of the database are shown again
REMEMBERED_SECONDS = (
    3600  # for so long a known scraper is admitted while the database can not be read
)
NO_DATABASE = (DatabaseBusy, DatabaseUnreachable, DatabaseUnusable, StartRefused)
FAMILIES = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}
HELP = {
    "database_up": "1 where the database answers, else 0: then there is nothing else of it here",
    "listings": "NFTs in the order book",
    "nfts_incomplete": "NFTs whose metadata or image is still tried for",
    "preparations_open": "Prepared listings and withdrawals that may still be submitted",
    "purchases_open": "Purchases that are signed, and may still be submitted",
    "sale_fees_charged_tinybars": "Fees of the last hour's purchases that the ledger told",
    "sale_fees_reserved_tinybars": "The most that the last hour's other purchases may cost",
    "sale_fee_budget_tinybars": "Fees that purchases may cost in an hour",
    "balance_tinybars": "What the marketplace's account had when a purchase was last asked for",
    "database_bytes": "Size of the database",
    "last_sync_age_seconds": "How old that is up to which the ledger was followed",
    "watcher_up": "1 where a watcher was at work in the last minute, on whatever machine",
    "rechecks_waiting": "NFTs, accounts and tokens that wait to be rechecked",
    "processes": "Processes of this machine that count: workers and the watcher",
    "media_bytes": "What all optimised images take",
    "media_max_bytes": "What all optimised images may take",
    "mirror_node_rate": "Requests a second that this machine may make to the mirror node",
}

blp = Blueprint("Metrics", __name__, description="For the operator's Prometheus")


class Facts:
    """Figures of the database, read once in 15 s at most: they cost more than all else here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, float] = {}
        self._last_sync: float | None = None
        self._asked_at = float("-inf")

    def find(self) -> dict[str, float]:
        with self._lock:
            if time.monotonic() > self._asked_at + ASKED_SECONDS:
                try:
                    self._found = self._ask()
                except NO_DATABASE:
                    self.note_loss()
                self._asked_at = time.monotonic()
            found = dict(self._found)
        if self._last_sync is not None and found["database_up"]:
            found["last_sync_age_seconds"] = max(times.now() / times.SECOND - self._last_sync, 0)
        return found

    def _ask(self) -> dict[str, float]:
        with explained():
            db, now = read(), times.to_iso(times.now())
            last_sync = freshness.find_last_sync()
            self._last_sync = times.from_iso(last_sync) if last_sync else None
            charged, reserved = find_fees(times.now())
            balance = find_noted_balance()
            noted = {} if balance is None else {"balance_tinybars": balance}
            return noted | {
                "database_up": 1,
                "listings": nfts.count_listed(db),
                "watcher_up": int(freshness.is_watched()),
                "rechecks_waiting": following.count_rechecks(db),
                "nfts_incomplete": nfts.count_incomplete(db),
                "preparations_open": prepared_transactions.count_open_preparations(db, now),
                **_find_media_bytes(db),
                "purchases_open": prepared_transactions.count_open_purchases(db, now),
                "sale_fees_charged_tinybars": charged,
                "sale_fees_reserved_tinybars": reserved,
                "database_bytes": services().database.size(),
            }

    def note_loss(self) -> None:
        """Note that the database could not be read just now."""
        self._found, self._asked_at = {"database_up": 0}, time.monotonic()


def _find_media_bytes(db: Connection) -> dict[str, float]:
    measured = properties.get_property(db, "media_bytes")
    return {"media_bytes": int(bytes(measured["value"]))} if measured else {}


class Scrapers:
    """The scrapers admitted lately: they may see that the database is gone, which holds their tokens."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def admit(self) -> None:
        """Remember the request's header. Without one, only the host knows the caller."""
        now = time.monotonic()
        self._until = {key: until for key, until in self._until.items() if until > now}
        if "Authorization" in request.headers:
            self._until[_authorization()] = now + REMEMBERED_SECONDS

    def is_known(self) -> bool:
        return self._until.get(_authorization(), 0) > time.monotonic()


def _authorization() -> bytes:
    return hashlib.sha256(request.headers.get("Authorization", "").encode()).digest()


def admitting_known_scrapers(view: View) -> View:
    """Ask for a token, or while the database can not be read, for one that was admitted before."""
    guarded = require_scope("metrics")(view)

    @wraps(guarded)
    def guarded_or_known() -> Response:
        scrapers = services().scrapers
        try:
            with explained():
                answer = guarded()
        except NO_DATABASE:
            if not scrapers.is_known():
                raise
            services().facts.note_loss()
            return cast(Response, view())
        scrapers.admit()
        return cast(Response, answer)

    return guarded_or_known


@blp.get("/metrics")
@admitting_known_scrapers
@blp.response(
    200,
    {"type": "string"},
    content_type=CONTENT_TYPE_PLAIN_0_0_4,
    description="In Prometheus' text format, version 0.0.4",
)
@Blueprint.doc(responses={503: "Unavailable"})
def show_metrics() -> Response:
    """Show what was counted, for Prometheus

    The counts of all processes of this machine, and figures of the database. Asks for a token of the scope
    `metrics`.
    """
    registry = CollectorRegistry()
    registry.register(_Found())
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Found:
    """All metrics, as prometheus_client collects them."""

    def collect(self) -> Iterator[Metric]:
        numbers, processes = services().counts.read()
        config = current_app.config
        facts = {
            "processes": processes,
            "mirror_node_rate": config["MIRROR_NODE_RATE"],
            "media_max_bytes": config["MEDIA_MAX_BYTES"],
            "sale_fee_budget_tinybars": config["SALE_FEE_BUDGET"],
        }
        facts |= services().facts.find()
        info = {"version": __version__, "network": config["NETWORK"]}
        about = GaugeMetricFamily(f"{PREFIX}info", "What is served", labels=[*info])
        about.add_metric([*info.values()], 1)
        yield about
        for name, value in facts.items():
            yield GaugeMetricFamily(PREFIX + name, HELP[name], value=value)
        yield from _families(numbers)


def _families(numbers: Numbers) -> Iterator[Metric]:
    """Each counted metric. One without labels is shown from the beginning, as 0."""
    for name, metric in METRICS.items():
        family = FAMILIES[metric.kind](PREFIX + name, metric.help, labels=metric.labels)
        found = {key[1:]: values for key, values in sorted(numbers.items()) if key[0] == name}
        if not metric.labels:
            found = found or {(): [0.0]}
        for labels, values in found.items():
            if metric.kind == "histogram":
                bounds = [*map(str, BUCKETS), "+Inf"]
                buckets = [*zip(bounds, accumulate(values[:-1]), strict=True)]
                family.add_metric(labels, buckets, sum_value=values[-1])
            else:
                family.add_metric(labels, values[0])
        yield family
