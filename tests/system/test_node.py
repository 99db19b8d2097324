"""The node's own process: what a Hedera SDK connects to."""

import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import pytest
from sqlite_utils.utils import sqlite3

from marketplace.sandbox.hapi.services import MAX_REQUEST_BYTES
from tests import serving
from tests.conftest import ALICE
from tests.network import PATIENCE_SECONDS, reserved_port
from tests.sandbox import hapi
from tests.sandbox.hapi import APPROVE, RECEIPTS
from tests.sandbox.test_sandbox_ledger import approval, signed
from tests.serving import run_flask

pytestmark = pytest.mark.once("the sandbox keeps its ledger on SQLite")

BALANCE = "/proto.CryptoService/cryptoGetBalance"
PING = hapi.query("cryptogetAccountBalance", accountID=hapi.account_id("0.0.3"))


def call(channel, path, content, **options):
    method = channel.unary_unary(path)
    return method(content, timeout=PATIENCE_SECONDS, **options)


def ping(port):
    # A connection of its own, which knows nothing of an earlier node.
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        told, code = hapi.answer(call(channel, BALANCE, PING), "cryptogetAccountBalance")
    assert (code, told.accountID.accountNum) == ("OK", 3)


def refusal(channel, path, content, **options):
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, path, content, **options)
    return refused.value.code()


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def memory(pid):
    """Bytes of its own, without what it shares."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kb) for kb in re.findall(r"^Private_\w+: +(\d+) kB", text, re.M)) * 1024


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with serving.node(tmp_path_factory.mktemp("node")) as node:
        yield node
    assert "Traceback" not in node.output


@pytest.fixture(scope="module")
def channel(node):
    with grpc.insecure_channel(f"127.0.0.1:{node.port}") as channel:
        yield channel


def test_it_takes_a_transaction_and_gives_a_receipt(channel):
    content = signed(approval(), ALICE)
    assert hapi.precheck(call(channel, APPROVE, hapi.transaction(content))) == "OK"
    asked = hapi.query(
        "transactionGetReceipt", transactionID=hapi.transaction_id(hapi.id_of(content))
    )
    told, code = hapi.answer(call(channel, RECEIPTS, asked), "transactionGetReceipt")
    assert code == "OK"
    assert told.receipt.status == 237  # SENDER_DOES_NOT_OWN_NFT_SERIAL_NO: nobody has it yet


def test_it_streams_its_address_book(channel):
    method = channel.unary_stream("/com.hedera.mirror.api.proto.NetworkService/getNodes")
    [node] = method(b"", timeout=PATIENCE_SECONDS)
    assert bytes((127, 0, 0, 1)) in node


@pytest.mark.parametrize(
    "path", ["/proto.NobodyService/nothing", "/proto.CryptoService/nothing", "/"]
)
def test_an_unknown_method(channel, path):
    assert refusal(channel, path, PING) is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("size", [MAX_REQUEST_BYTES + 1, 3_000_000, 10_000_000])
def test_large_messages_are_not_read(node, channel, size):
    before = memory(node.pid)
    for path in (APPROVE, BALANCE):
        assert refusal(channel, path, bytes(size)) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert memory(node.pid) - before < 10_000_000
    ping(node.port)


def test_who_speaks_something_else_is_dropped(node):
    for said in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 1000, b"\x16\x03\x01\x02\x00\x01" * 50):
        with socket.create_connection(("127.0.0.1", node.port), timeout=PATIENCE_SECONDS) as client:
            client.sendall(said)
            try:
                while client.recv(65536):
                    pass
            except ConnectionResetError:
                pass
    ping(node.port)


def test_silent_clients_are_dropped_and_keep_nobody_waiting(node):
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", node.port)))
            for _ in range(50)
        ]
        ping(node.port)
        for client in clients:
            client.settimeout(PATIENCE_SECONDS)
            while client.recv(65536):  # its settings, and then the end
                pass


def test_a_request_that_never_comes_is_given_up(node):

    def never():
        time.sleep(2 * PATIENCE_SECONDS)
        yield b""

    with grpc.insecure_channel(f"127.0.0.1:{node.port}") as channel:
        calls = [channel.stream_unary(BALANCE).future(never()) for _ in range(20)]
        ping(node.port)
        for pending in calls:
            assert pending.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_thousand_connections_at_once(node):
    before = memory(node.pid)

    def connect(number):
        # One of its own each: gRPC would share a connection among channels that are alike.
        options = [("grpc.use_local_subchannel_pool", 1)]
        channel = grpc.insecure_channel(f"127.0.0.1:{node.port}", options=options)
        assert call(channel, BALANCE, PING)
        return channel

    with ThreadPoolExecutor(50) as pool:
        channels = list(pool.map(connect, range(1000)))
    grown = memory(node.pid) - before
    ping(node.port)
    for channel in channels:
        channel.close()
    assert grown < 200_000_000, grown
    ping(node.port)


# Its life


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_its_address_is_there_while_it_listens(tmp_path, number):
    file = tmp_path / "instance/sandbox-node"
    with serving.node(tmp_path) as node:
        assert file.read_text() == f"127.0.0.1:{node.port}"
        node.send_signal(number)
        assert node.wait(PATIENCE_SECONDS) == 0
        assert not file.exists()
        assert is_free(node.port)
    assert node.output.count("Hedera SDKs") == 1


def test_after_a_kill_the_next_one_says_where_it_is(tmp_path):
    with serving.node(tmp_path) as killed:
        killed.kill()
        killed.wait()
        (tmp_path / "instance/sandbox-node").write_text("")
        with serving.node(tmp_path) as node:
            assert f"127.0.0.1:{node.port}" in (tmp_path / "instance/sandbox-node").read_text()
            ping(node.port)


def test_a_port_that_is_taken_is_replaced_and_that_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = taken.getsockname()[1]
        with serving.node(tmp_path, port=wanted) as node:
            assert node.port != wanted
            ping(node.port)
    assert (
        f'Client.forNetwork({{"127.0.0.1:{node.port}": "0.0.3"}}), as {wanted} is taken'
        in node.output
    )
    assert "Address already in use" not in node.output


def test_the_port_that_is_set_is_taken(tmp_path):
    with reserved_port() as wanted, serving.node(tmp_path, port=wanted) as node:
        assert node.port == wanted
        ping(wanted)
        told = run_flask(tmp_path / "instance", "sandbox", "hello").output
    assert f'Client.forNetwork({{"127.0.0.1:{wanted}": "0.0.3"}})' in told
    assert "is taken" not in node.output
    told = run_flask(tmp_path / "instance", "sandbox", "hello").output
    assert "Hedera SDKs" not in told


def test_only_this_machine_reaches_it(node):
    listening = [
        bytes.fromhex(address.partition(":")[0])
        for name in ("tcp", "tcp6")
        for address, state in re.findall(
            r"\d+: (\S+) \S+ (\S+)", Path(f"/proc/net/{name}").read_text()
        )
        if state == "0A" and int(address.partition(":")[2], 16) == node.port
    ]
    assert [address[-4:][::-1] for address in listening] == [bytes((127, 0, 0, 1))]


@contextmanager
def locked(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def test_many_at_a_locked_ledger_are_told_so(tmp_path):
    with serving.node(tmp_path) as node:
        content = hapi.transaction(signed(approval(), ALICE))
        with (
            grpc.insecure_channel(f"127.0.0.1:{node.port}") as channel,
            locked(tmp_path / "instance/sandbox.db"),
        ):
            method = channel.unary_unary(APPROVE)
            pending = [method.future(content, timeout=PATIENCE_SECONDS) for _ in range(40)]
            codes = {
                hapi.precheck(each.result()) if each.exception() is None else each.code()
                for each in pending
            }
        assert codes == {"BUSY", grpc.StatusCode.RESOURCE_EXHAUSTED}
