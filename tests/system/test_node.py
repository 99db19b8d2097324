"""The node's own process: what a Hedera SDK connects to."""

import re
import signal
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import pytest
from hiero_sdk_python.hapi.mirror.mirror_network_service_pb2 import AddressBookQuery

from harness import serving
from harness.network import PATIENCE_SECONDS, is_free, read_all, reserved_port
from harness.serving import run_flask
from harness.wallets import account
from hiero_sandbox.hapi.services import MAX_REQUEST_BYTES
from sandbox.tests import hapi
from sandbox.tests.hapi import ACCOUNT, APPROVE
from tests.system.grpc_calls import PING, call, ping


def refusal(channel, path, content, **options):
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, path, content, **options)
    return refused.value.code()


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


def test_it_streams_its_address_book(channel):
    method = channel.unary_stream("/com.hedera.mirror.api.proto.NetworkService/getNodes")
    query = AddressBookQuery(file_id={"fileNum": 102}).SerializeToString()
    [node] = method(query, timeout=PATIENCE_SECONDS)
    assert bytes((127, 0, 0, 1)) in node


@pytest.mark.parametrize(
    "path", ["/proto.NobodyService/nothing", "/proto.CryptoService/nothing", "/"]
)
def test_an_unknown_method(channel, path):
    with pytest.raises(grpc.RpcError) as raised:
        channel.unary_unary(path)(PING, timeout=PATIENCE_SECONDS)
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert raised.value.details() == f"The sandbox has no method {path!a}"


@pytest.mark.parametrize("size", [MAX_REQUEST_BYTES + 1, 3_000_000, 10_000_000])
def test_large_messages_are_not_read(node, channel, size):
    before = memory(node.pid)
    for path in (APPROVE, ACCOUNT):
        assert refusal(channel, path, bytes(size)) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert memory(node.pid) - before < 10_000_000
    ping(node.port)


def test_who_speaks_something_else_is_dropped(node):
    for said in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 1000, b"\x16\x03\x01\x02\x00\x01" * 50):
        with socket.create_connection(("127.0.0.1", node.port), timeout=PATIENCE_SECONDS) as client:
            client.sendall(said)
            with suppress(ConnectionResetError):
                read_all(client)
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
            read_all(client)  # its settings, and then the end


def test_a_request_that_never_comes_is_given_up(node):

    def never():
        time.sleep(2 * PATIENCE_SECONDS)
        yield b""

    with grpc.insecure_channel(f"127.0.0.1:{node.port}") as channel:
        calls = [channel.stream_unary(ACCOUNT).future(never()) for _ in range(20)]
        ping(node.port)
        for pending in calls:
            assert pending.code() is grpc.StatusCode.DEADLINE_EXCEEDED


# Its life


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_its_address_is_there_while_it_listens(tmp_path, number):
    file = tmp_path / "instance/sandbox-node"
    with reserved_port() as wanted, serving.node(tmp_path, port=wanted) as node:
        assert node.port == wanted
        assert file.read_text() == f"127.0.0.1:{wanted}"
        output = run_flask(file.parent, "sandbox", "hello").output
        assert f'Client.forNetwork({{"127.0.0.1:{wanted}": "0.0.3"}})' in output
        node.send_signal(number)
        assert node.wait(PATIENCE_SECONDS) == 0
        assert not file.exists()
        assert is_free(wanted)
    assert node.output.count("Hedera SDKs") == 1
    assert "is taken" not in node.output
    assert "Hedera SDKs" not in run_flask(file.parent, "sandbox", "hello").output


def test_what_it_warns_of_is_logged_once(tmp_path):
    name = "cryptogetAccountBalance"
    asked = hapi.query(name, accountID=account("0.0.3"))
    with serving.node(tmp_path) as node, grpc.insecure_channel(f"127.0.0.1:{node.port}") as channel:
        answered = call(channel, "/proto.CryptoService/cryptoGetBalance", asked)
        assert hapi.answer(answered, name)[1] == "NOT_SUPPORTED"
    assert node.output.count("ask the mirror node for balances") == 1


def test_after_a_kill_the_next_one_says_where_it_is(tmp_path):
    with serving.node(tmp_path) as killed:
        killed.kill()
        killed.wait()
        (tmp_path / "instance/sandbox-node").write_text("")
        addresses = tmp_path / "instance/sandbox.env"
        addresses.chmod(0o644)
        with serving.node(tmp_path) as node:
            assert addresses.stat().st_mode & 0o777 == 0o600  # a token is in it
            assert f"127.0.0.1:{node.port}" in (tmp_path / "instance/sandbox-node").read_text()
            ping(node.port)


def test_a_port_that_is_taken_is_replaced_and_that_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = taken.getsockname()[1]
        with serving.node(tmp_path, port=wanted) as node:
            assert node.port != wanted
            ping(node.port)
    said = f'Client.forNetwork({{"127.0.0.1:{node.port}": "0.0.3"}}), as {wanted} is taken'
    assert said in node.output
    assert "Address already in use" not in node.output


def test_further_ports_are_served_where_they_are_free(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other, reserved_port() as own:
        taken = other.getsockname()[1]
        with (
            reserved_port() as free,
            serving.node(tmp_path, port=own, also=(own, taken, free)) as node,
        ):
            ping(node.port)
            ping(free)
            addresses = (tmp_path / "instance/sandbox.env").read_text()
    market = "http://127.0.0.1:8000"
    assert addresses.splitlines() == [
        f"export MARKET={market}",
        f"export MIRROR={market}/sandbox/api/v1",
        f"export MIRROR_GRPC=127.0.0.1:{free}",
        f"export NODE=127.0.0.1:{node.port}",
        f"export TOKEN={(tmp_path / 'instance/sandbox-token').read_text()}",
    ]
    said = f"forLocalNode() gRPC on 127.0.0.1, ports {free} (other programs listen on {taken})\n"
    assert said in node.output
    assert not (tmp_path / "instance/sandbox.env").exists()


def test_only_this_machine_reaches_it(node):
    sockets = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    # State 0A listens; an address is written from its last byte to its first.
    listening = re.findall(rf"\d+: (\w+):{node.port:04X} \S+ 0A", sockets)
    assert [address[-8:] for address in listening] == ["0100007F"]
