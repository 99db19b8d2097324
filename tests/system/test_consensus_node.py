"""The service submits what it signs to a consensus node as Hedera SDKs do: over gRPC, by HAPI's messages."""

import time

import grpc
import pytest

from harness.cast import MARKET
from harness.consensus_node import serve_node
from harness.network import reserved_port, serve_raw, silence
from harness.serving import node
from harness.wallets import seal
from marketplace.hedera.transactions import read_first
from marketplace.ledger.rate import Deadline
from marketplace.market.nodes import NodeSilent, NodeUnreachable, send_to_address
from marketplace.sandbox import wallet
from sandbox.tests.schedules import about, creation_of, payment

CREATE = "/proto.ScheduleService/createSchedule"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with node(tmp_path_factory.mktemp("node")) as running:
        yield f"127.0.0.1:{running.port}"


def signed(body, payer=MARKET):
    return read_first(wallet.sign(payer, seal(body)))


def creation(memo="offer"):
    body = creation_of(payment(), payer=MARKET, memo=memo)
    return signed(body)


def test_a_node_takes_a_schedule_once_and_its_deletion(address):
    transaction = creation()
    assert send_to_address(address, transaction, Deadline(5)) == "OK"
    assert send_to_address(address, transaction, Deadline(5)) == "DUPLICATE_TRANSACTION"
    deletion = signed(about("scheduleDelete", "0.0.999999", MARKET))
    assert send_to_address(address, deletion, Deadline(5)) == "OK"


def test_a_node_says_why_it_takes_none(address):
    unsigned = creation_of(payment(), payer=MARKET)
    content = read_first(wallet.sign("0.0.1002", seal(unsigned)))
    assert send_to_address(address, content, Deadline(5)) == "INVALID_SIGNATURE"


def test_a_closed_port_is_unreachable():
    with reserved_port() as port, pytest.raises(NodeUnreachable):
        send_to_address(f"127.0.0.1:{port}", creation(), Deadline(0.5))


def test_what_speaks_no_grpc_is_unreachable():
    with serve_raw(silence) as url, pytest.raises(NodeUnreachable):
        send_to_address(url.removeprefix("http://"), creation(), Deadline(0.5))


def test_a_node_that_does_not_answer_may_have_the_transaction():
    def hang(content, context):
        time.sleep(2)

    with serve_node(CREATE, hang) as address, pytest.raises(NodeSilent, match="DEADLINE_EXCEEDED"):
        began = time.monotonic()
        send_to_address(address, creation(), Deadline(1))
    assert time.monotonic() - began < 4


def test_a_node_that_breaks_off_may_have_the_transaction():
    def break_off(content, context):
        context.abort(grpc.StatusCode.UNAVAILABLE, "It stops")

    with serve_node(CREATE, break_off) as address, pytest.raises(NodeSilent, match="UNAVAILABLE"):
        send_to_address(address, creation(), Deadline(2))


def test_an_unknown_code_is_a_number():
    def answer(content, context):
        return b"\x08\xff\x7f"  # nodeTransactionPrecheckCode: 16383

    with serve_node(CREATE, answer) as address:
        assert send_to_address(address, creation(), Deadline(2)) == "16383"
