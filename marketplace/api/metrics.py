"""GET /metrics for Prometheus: the counters of this machine, and figures from the database."""

from collections.abc import Iterator

from flask import Response, current_app
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from marketplace.api.authentication import require_scope
from marketplace.api.http import Blueprint
from marketplace.hedera import times
from marketplace.market import freshness
from marketplace.market.buying import account_key
from marketplace.market.buying.fees import find_fees, find_noted_balance
from marketplace.metrics import PREFIX, collect
from marketplace.services import read, services
from marketplace.store import access_tokens, disks, nfts, rechecks, webhooks
from marketplace.store.connection import Connection, explained
from marketplace.store.prepared_transactions import PREPARATIONS, UNSETTLED, count_open
from marketplace.version import __version__

# Names and help texts. make docs writes them into docs/monitoring.md.
HELP = {
    "listings": "NFTs in the order book",
    "nfts_incomplete": "NFTs whose metadata or image is still missing",
    "preparations_open": "Prepared listings and withdrawals that may still be submitted",
    "purchases_open": "Signed purchases that may still be submitted",
    "sale_fees_charged_tinybars": "Fees that the ledger charged for the last hour's purchases",
    "sale_fees_reserved_tinybars": "Maximum fees of the last hour's other purchases",
    "sale_fee_budget_tinybars": "The setting SALE_FEE_BUDGET: what purchases may cost in an hour",
    "balance_tinybars": "Balance of ACCOUNT_ID, read once a minute by the watcher",
    "signing_off": "1 if purchases cannot be signed: the signer's key is not the account's",
    "database_bytes": "Size of the database; for SQLite, with the -wal file",
    "disk_free_bytes": "Room on the disk of an SQLite database or of a folder of images: the fuller one",
    "last_backup_age_seconds": "Age of the last backup by flask backup; absent before the first",
    "last_sync_age_seconds": "How far following is behind; absent until a watcher has synced everything once",
    "network_reset": "1 if the mirror node shows another ledger than the one that was followed",
    "watcher_up": "1 if a watcher followed the ledger, or tried to, in the last minute, on any machine",
    "rechecks_waiting": "NFTs, accounts and tokens that wait for a recheck",
    "webhooks_given_up": "Webhooks to which the watcher no longer delivers",
    "webhook_delay_seconds": "Age of the oldest event that a webhook has not received yet, or 0",
    "access_tokens_ending": "Access tokens that expire within 14 days and were not replaced",
    "mirror_node_rate": "Requests per second that this machine may send to the mirror node",
}
INFO = "The version and the network, as labels"

blp = Blueprint("Metrics", __name__, description="For the operator's Prometheus")


def _find_facts() -> dict[str, float]:
    """The figures from the database and the settings."""
    with explained():
        db, now, config = read(), times.now(), current_app.config
        charged, reserved = find_fees(now)
        facts: dict[str, float] = {
            "listings": nfts.count_listed(db),
            "network_reset": int(freshness.find_reset() is not None),
            "watcher_up": int(freshness.is_watched()),
            "rechecks_waiting": rechecks.count_rechecks(db),
            "nfts_incomplete": nfts.count_incomplete(db),
            "preparations_open": count_open(db, PREPARATIONS, times.to_iso(now)),
            "purchases_open": count_open(db, UNSETTLED, times.to_iso(now)),
            "sale_fees_charged_tinybars": charged,
            "sale_fees_reserved_tinybars": reserved,
            "signing_off": int(account_key.find_reason() is not None),
            "database_bytes": services().database.size(),
            "access_tokens_ending": len(access_tokens.find_ending(db)),
            "mirror_node_rate": config["MIRROR_NODE_RATE"],
            "sale_fee_budget_tinybars": config["SALE_FEE_BUDGET"],
        }
        if last_sync := freshness.find_last_sync():
            age = now / times.SECOND - times.from_iso(last_sync)
            facts["last_sync_age_seconds"] = max(age, 0)
        if last_backup := freshness.find_last_backup():
            age = now / times.SECOND - times.from_iso(last_backup)
            facts["last_backup_age_seconds"] = max(age, 0)
        if free := disks.find_free():
            facts["disk_free_bytes"] = min(free.values())
        if (balance := find_noted_balance()) is not None:
            facts["balance_tinybars"] = balance
        return facts | _find_webhook_facts(db, now)


def _find_webhook_facts(db: Connection, now: int) -> dict[str, float]:
    rows = webhooks.list_webhooks(db)
    live = [row for row in rows if not webhooks.is_given_up(row)]
    waiting = filter(None, (webhooks.get_undelivered_event(db, row) for row in live))
    delays = [now / times.SECOND - times.from_iso(event["seen_at"]) for event in waiting]
    given_up = len(rows) - len(live)
    return {"webhooks_given_up": given_up, "webhook_delay_seconds": max([0, *delays])}


@blp.get("/metrics")
@require_scope("metrics")
@blp.response(
    200,
    {"type": "string"},
    content_type=CONTENT_TYPE_PLAIN_0_0_4,
    description="In Prometheus' text format, version 0.0.4",
)
def show_metrics() -> Response:
    """Get metrics for Prometheus

    Returns the counters of all processes of this machine, and figures from the database. This call needs a
    token with the scope `metrics`.
    """
    return Response(generate_latest(_Found()), content_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Found(Collector):
    """All metrics, as prometheus_client collects them."""

    def collect(self) -> Iterator[Metric]:
        facts, config = _find_facts(), current_app.config
        info = {"version": __version__, "network": config["NETWORK"]}
        yield InfoMetricFamily("marketplace", INFO, value=info)
        for name, value in facts.items():
            yield GaugeMetricFamily(PREFIX + name, HELP[name], value=value)
        yield from collect()
