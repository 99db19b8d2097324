"""The nodes that transactions name: those that are set, or the network's own as the watcher read them."""

import json

import pytest
from werkzeug.wrappers import Request, Response

from harness.apps import settings
from harness.mirror import Mirror
from marketplace import create_app
from marketplace.errors import LedgerAnswerInvalid
from marketplace.ledger import Deadline
from marketplace.market.nodes import ALWAYS_THERE, MOST, find_addresses, next_node
from marketplace.watcher.maintenance import store_network
from tests.engines import both_engines

# Mainnet's on 2026-08-20, by Hedera's own table.
MAINNET = [3, 4, 7, 8, 9, 10, 12, 13, 14, 15, 18, *range(20, 26), 28, 29, *range(33, 43)]


def endpoints(number):
    """As mainnet's: two plain ones, and two with TLS; one names a host, and one an address."""
    ports = [(50211, ""), (50212, ""), (50211, f"node{number}.example"), (50212, "x.example")]
    return [
        {"port": port, "domain_name": domain, "ip_address_v4": "" if domain else f"10.0.0.{number}"}
        for port, domain in ports
    ]


def list_nodes(numbers):
    """Answer as the mirror node does: 25 at most, by node id, and no page after the last."""

    @Request.application
    def answer(request):
        assert request.args["limit"] == "25"
        first = int(request.args.get("node.id", "gt:-1").removeprefix("gt:")) + 1
        page = numbers[first : first + 25]
        path = f"/api/v1/network/nodes?limit=25&order=asc&node.id=gt:{first + 24}"
        following = path if first + 25 < len(numbers) else None
        nodes = [
            {"node_account_id": f"0.0.{number}", "service_endpoints": endpoints(number)}
            for number in page
        ]
        document = {"nodes": nodes, "links": {"next": following}}
        return Response(json.dumps(document), content_type="application/json")

    return answer


@pytest.fixture
def market(tmp_path):
    """An app, its mirror node, and how to read the nodes as the watcher does; on a real network's default."""
    app = create_app(NODE_ACCOUNT_IDS="", **settings(tmp_path))
    mirror = Mirror(app)

    def read(*numbers):
        mirror.answer("/network/nodes", list_nodes(numbers))
        store_network()

    with app.app_context():
        yield app, mirror, read


def turns():
    return {next_node() for _ in range(2 * MOST)}


def test_it_works(market):
    _, mirror, read = market
    assert turns() == set(ALWAYS_THERE)  # before the first reading
    read(*reversed(MAINNET))
    assert turns() == {"0.0.3", "0.0.4", "0.0.7", "0.0.8", "0.0.9", "0.0.10"}
    assert mirror.count("/network/nodes") == 2
    read(*MAINNET[3:])
    assert turns() == {"0.0.8", "0.0.9", "0.0.10", "0.0.12", "0.0.13", "0.0.14"}


@both_engines
def test_the_address_book_is_kept_while_the_mirror_node_has_none(market):
    _, mirror, read = market
    read(7)
    read()
    mirror.answer("/network/nodes", Response('{"nodes": [{"node_account_id": "x"}]}'))
    with pytest.raises(LedgerAnswerInvalid):
        store_network()
    assert turns() == {"0.0.7"}


def test_a_node_that_is_set_and_gone_is_reported(market):
    app, _, read = market
    app.config["NODE_ACCOUNT_IDS"] = ("0.0.6", "0.0.42")
    client, run = app.test_client(), app.test_cli_runner().invoke
    assert client.get("/status").json["nodesGone"] == []
    read(*MAINNET)
    assert turns() == {"0.0.6", "0.0.42"}
    assert client.get("/status").json["nodesGone"] == ["0.0.6"]
    output = run(args=["status"]).output
    assert (
        "Nodes          0.0.6, 0.0.42\n  0.0.6 is gone from the network: remove it from" in output
    )


def test_a_node_is_found_where_it_takes_transactions(market):
    _, mirror, read = market
    mirror.answer("/network/nodes", list_nodes([3]))
    expected = {"0.0.3": ["10.0.0.3:50211", "node3.example:50211"]}
    assert find_addresses(Deadline(5)) == expected  # asked for: no watcher has read them
    read(3)
    mirror.fail("/network/nodes")
    assert find_addresses(Deadline(5)) == expected


def test_addresses_that_make_no_sense_leave_a_node_without(market):
    _, mirror, _ = market
    mirror.alter(
        "/network/nodes",
        lambda document: document["nodes"][0].update(
            service_endpoints=[{"port": 50211, "ip_address_v4": "10.0.0.3/../x"}]
        ),
    )
    store_network()
    assert find_addresses(Deadline(5)) == {"0.0.3": []}
