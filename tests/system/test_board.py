"""The board, the alerts and /metrics, before Debian's Prometheus."""

import json
import re
import shutil

import pytest

from harness.postgresql import until
from harness.serving import run_program, serve
from marketplace.api.metrics import HELP
from marketplace.metrics import COUNTERS
from stress import board
from stress.board import BOARD, RULES, prometheus, queries, read, trade

needs_prometheus = pytest.mark.skipif(
    not shutil.which("promtool"), reason="needs Prometheus: make tools"
)
# What nothing here happened of.
MAY_BE_EMPTY = re.compile("requests_limited|images_total")


def panels():
    return json.loads(BOARD.read_text())["panels"]


def test_the_board_shows_all_metrics_of_purchases():
    names = {name for name in HELP if re.match("purchases|sale_fee", name)}
    names |= {f"{name}_total" for name, *_ in COUNTERS if name.startswith("purchases")}
    shown = " ".join(expressions())
    assert {name for name in names if f"marketplace_{name}{{" not in shown} == set()
    assert len(names) == 5, names


@needs_prometheus
def test_the_alerts_are_rules():
    run_program("promtool", "check", "rules", RULES, check=True)


@needs_prometheus
def test_prometheus_reads_it_and_answers_the_board(tmp_path):
    with serve(tmp_path, "--workers", "2") as service:
        service.flask("sync")
        with prometheus(tmp_path, service) as server:

            def is_seen():
                for serial_no in (1, 2):
                    trade(service, serial_no)
                    read(service, serial_no)
                board.call(service, "/v1/orderbook")
                return server.ask(
                    "rate(marketplace_response_cache_requests_total[30s]) > 0"
                ) and not [
                    expression
                    for expression in expressions()
                    if not server.ask(expression) and not MAY_BE_EMPTY.search(expression)
                ]

            until(is_seen, "the board stays empty")
            until(lambda: server.ask("up")[0]["value"][1] == "1", "the service is not read")
            rules = json.loads(server.get("/api/v1/rules"))["data"]["groups"][0]["rules"]
            assert {rule["health"] for rule in rules} <= {"ok", "unknown"}, rules
            token = re.search("credentials: ([^}]+)", (tmp_path / "prometheus.yml").read_text())[1]
        with service.get("/metrics", Authorization=f"Bearer {token}") as response:
            shown = response.read().decode()
    run_program("promtool", "check", "metrics", input=shown, check=True)


def expressions():
    return [expression for panel in panels() for expression, _ in queries(panel)]
