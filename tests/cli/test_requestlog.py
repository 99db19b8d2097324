"""The access log: no header of a client's begins or fills a line of it."""

import logging

import pytest

from marketplace.cli.access_log import TextFormatter
from marketplace.wsgi_environ import REQUEST_ID, TOKEN_NAME

pytestmark = pytest.mark.once("no statement is asked")


def line(client):
    atoms = {
        "h": client,
        "m": "GET",
        "{raw_uri}e": "/status?x=1",
        "s": "200",
        "B": 5,
        "D": 1500,
        "a": "agent",
        f"{{{REQUEST_ID}}}e": "r-1",
        f"{{{TOKEN_NAME}}}e": "-",
    }
    record = logging.makeLogRecord({"msg": "", "created": 0})
    record.args = atoms
    return TextFormatter().format(record)


@pytest.mark.parametrize("client", ["203.0.113.7", "2001:db8::1"])
def test_it_has_the_address(client):
    assert line(client) == f"1970-01-01T00:00:00.000Z {client} GET /status 200 5 B 1.5 ms r-1 -"


@pytest.mark.parametrize("client", ["203.0.113.7:4711", "[2001:db8::1]:4711"])
def test_it_drops_the_port_that_a_proxy_added(client):
    assert f" {client[:-5].strip('[]')} GET " in line(client)


@pytest.mark.parametrize(
    "forged",
    [
        "203.0.113.7 POST /v1/buy/extwallet 200 9 B 1 ms r-0 admin",
        "203.0.113.7\n2026-11-21T22:50:46.773Z 10.0.0.1",
        "fe80::1%x GET /metrics 200",
        "\x1b[2J",
        "",
        "unknown",
    ],
)
def test_it_is_not_forged_by_x_forwarded_for(forged):
    assert len(line(forged).split()) == len(line("203.0.113.7").split())
    assert "\n" not in line(forged)
    assert "\x1b" not in line(forged)
