"""The node's own process: what a Hedera SDK connects to, beside the service as it is served."""

import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from sqlite_utils.utils import sqlite3

from marketplace.sandbox.hapi.services import MAX_REQUEST_BYTES
from tests.conftest import ALICE
from tests.network import PATIENCE_SECONDS, reserved_port
from tests.sandbox import hapi
from tests.sandbox.hapi import APPROVE, RECEIPTS
from tests.sandbox.test_sandbox_ledger import approval, signed
from tests.serving import run_flask, serve

pytestmark = pytest.mark.once("the sandbox keeps its ledger on SQLite")

LISTENING = "0A"  # in /proc/net/tcp
BALANCE = "/proto.CryptoService/cryptoGetBalance"
PING = hapi.query("cryptogetAccountBalance", accountID=hapi.account_id("0.0.3"))
SAID = re.compile(r'Client\.forNetwork\(\{"127\.0\.0\.1:([0-9]+)": "0\.0\.3"\}\)(.*)')
ONE_WORKER = ("--workers", "1")


def port_of(service):
    """The port that the start's words name, and what they say of it."""
    said = SAID.search(service.printed())
    return int(said[1]), said[2].strip()


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


def children(pid):
    """The processes that this one began, and that live."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(path.parent.name))
    return found


def process(service):
    """The pid of the node: a child of the server's as the workers are, and the one that listens."""
    port, _ = port_of(service)
    [inode] = [
        fields[9]
        for name in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{name}").read_text().splitlines()[1:])
        if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port
    ]
    [node] = [pid for pid in children(service.process.pid) if f"socket:[{inode}]" in opened(pid)]
    return node


def opened(pid):
    """What a process has open, as /proc names it."""
    links = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(os.readlink(path))
    return links


def until(condition):
    started = time.monotonic()
    while not (found := condition()):
        assert time.monotonic() - started < PATIENCE_SECONDS
        time.sleep(0.05)
    return found


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def memory(pid):
    """Bytes of its own, without what it shares."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kb) for kb in re.findall(r"^Private_\w+: +(\d+) kB", text, re.M)) * 1024


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serve(tmp_path_factory.mktemp("node"), *ONE_WORKER, GRPC_PORT=0) as service:
        yield service
    assert "Traceback" not in service.output


@pytest.fixture(scope="module")
def channel(service):
    port, _ = port_of(service)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
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


def test_garbage(channel):
    assert refusal(channel, BALANCE, b"\xff" * 100) is grpc.StatusCode.INVALID_ARGUMENT
    assert hapi.precheck(call(channel, APPROVE, b"\xff" * 100)) == "INVALID_TRANSACTION"


@pytest.mark.parametrize("size", [MAX_REQUEST_BYTES + 1, 3_000_000, 10_000_000])
def test_large_messages_are_not_read(service, channel, size):
    before = memory(process(service))
    for path in (APPROVE, BALANCE):
        assert refusal(channel, path, bytes(size)) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert memory(process(service)) - before < 10_000_000
    ping(port_of(service)[0])


def test_who_speaks_something_else_is_dropped(service):
    port, _ = port_of(service)
    for said in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 1000, b"\x16\x03\x01\x02\x00\x01" * 50):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as client:
            client.sendall(said)
            try:
                while client.recv(65536):
                    pass
            except ConnectionResetError:
                pass
    ping(port)


def test_silent_clients_are_dropped_and_keep_nobody_waiting(service):
    port, _ = port_of(service)
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(50)
        ]
        ping(port)
        for client in clients:
            client.settimeout(PATIENCE_SECONDS)
            while client.recv(65536):  # its settings, and then the end
                pass


def test_a_request_that_never_comes_is_given_up(service):
    port, _ = port_of(service)

    def never():
        time.sleep(2 * PATIENCE_SECONDS)
        yield b""

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        calls = [channel.stream_unary(BALANCE).future(never()) for _ in range(20)]
        ping(port)
        for pending in calls:
            assert pending.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_thousand_connections_at_once(service):
    port, _ = port_of(service)
    node = process(service)
    before = memory(node)

    def connect(number):
        # One of its own each: gRPC would share a connection among channels that are alike.
        options = [("grpc.use_local_subchannel_pool", 1)]
        channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=options)
        assert call(channel, BALANCE, PING)
        return channel

    with ThreadPoolExecutor(50) as pool:
        channels = list(pool.map(connect, range(1000)))
    grown = memory(node) - before
    ping(port)
    for channel in channels:
        channel.close()
    assert grown < 200_000_000, grown
    ping(port)


# Its life


def test_it_is_begun_anew_on_the_same_port_whenever_it_dies(tmp_path):
    with serve(tmp_path, *ONE_WORKER, GRPC_PORT=0) as service:
        port, _ = port_of(service)
        for times in (1, 2):
            # Alone, or together with all that its parent waits for, too.
            for pid in [process(service)] if times == 1 else children(service.process.pid):
                os.kill(pid, signal.SIGKILL)
            until(lambda n=times: service.printed().count("The sandbox's node has ended") == n)
            until(lambda: not is_free(port))
            ping(port)
        assert len(until(lambda: children(service.process.pid)[1:])) == 1
        until(service.answers)


def test_its_port_is_waited_for_where_another_took_it_meanwhile(tmp_path):
    with serve(tmp_path, *ONE_WORKER, GRPC_PORT=0) as service:
        port, _ = port_of(service)
        os.kill(process(service), signal.SIGKILL)
        until(lambda: is_free(port))
        with socket.create_server(("127.0.0.1", port)):
            until(lambda: f"127.0.0.1:{port} is taken" in service.printed())
        until(lambda: not is_free(port))
        ping(port)


def test_a_reload_leaves_it_alone(tmp_path):
    with serve(tmp_path, *ONE_WORKER, GRPC_PORT=0) as service:
        before = process(service)
        workers = set(children(service.process.pid)) - {before}
        service.process.send_signal(signal.SIGHUP)
        until(lambda: not workers & set(children(service.process.pid)) and service.answers())
        assert process(service) == before
        ping(port_of(service)[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL])
def test_it_ends_with_the_server(tmp_path, number):
    with serve(tmp_path, *ONE_WORKER, GRPC_PORT=0) as service:
        port, _ = port_of(service)
        pid = process(service)
        service.process.send_signal(number)
        service.process.wait(PATIENCE_SECONDS)
        if number != signal.SIGKILL:
            assert is_free(port), "whoever starts next can not have the port"
        until(lambda: is_free(port) and not Path(f"/proc/{pid}").exists())


def test_what_a_terminal_sends_to_all_is_the_servers(tmp_path):
    with serve(tmp_path, *ONE_WORKER, GRPC_PORT=0) as service:
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            os.kill(process(service), number)
        ping(port_of(service)[0])


def test_a_port_that_is_taken_is_replaced_and_that_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = taken.getsockname()[1]
        with serve(tmp_path, *ONE_WORKER, GRPC_PORT=wanted) as service:
            port, said = port_of(service)
            assert port != wanted
            assert said == f"({wanted} is taken)"
            assert "Address already in use" not in service.printed()
            ping(port)


def test_the_port_that_is_set_is_taken(tmp_path):
    with reserved_port() as wanted, serve(tmp_path, *ONE_WORKER, GRPC_PORT=wanted) as service:
        assert port_of(service) == (wanted, "")
        ping(wanted)


def test_a_command_says_where_it_should_be(tmp_path):
    for setting, said in (("50299", "127.0.0.1:50299"), ("0", None), ("off", None)):
        ended = run_flask(tmp_path, "sandbox", "hello", GRPC_PORT=setting)
        found = re.search(r"127\.0\.0\.1:50\d+", ended.output)
        assert (found and found[0]) == said
        assert "Access token" in ended.output


def test_only_this_machine_reaches_it(service):
    port, _ = port_of(service)
    listening = [
        bytes.fromhex(address.partition(":")[0])
        for name in ("tcp", "tcp6")
        for address, state in re.findall(
            r"\d+: (\S+) \S+ (\S+)", Path(f"/proc/net/{name}").read_text()
        )
        if state == "0A" and int(address.partition(":")[2], 16) == port
    ]
    assert [address[-4:][::-1] for address in listening] == [bytes((127, 0, 0, 1))]


@pytest.mark.parametrize(
    "settings",
    [{"GRPC_PORT": "off"}, {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.4321", "GRPC_PORT": "0"}],
)
def test_where_it_is_off_or_no_sandbox_there_is_none(tmp_path, settings):
    with serve(tmp_path, *ONE_WORKER, **settings) as service:
        assert len(children(service.process.pid)) == 1
    assert "Hedera SDKs" not in service.output


@contextmanager
def locked(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def test_many_at_a_locked_ledger_are_told_so(tmp_path):
    with serve(tmp_path, *ONE_WORKER, GRPC_PORT=0) as service:
        port, _ = port_of(service)
        content = hapi.transaction(signed(approval(), ALICE))
        with (
            grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
            locked(tmp_path / "instance/sandbox.db"),
        ):
            method = channel.unary_unary(APPROVE)
            pending = [method.future(content, timeout=PATIENCE_SECONDS) for _ in range(40)]
            codes = {
                hapi.precheck(each.result()) if each.exception() is None else each.code()
                for each in pending
            }
        assert codes == {"BUSY", grpc.StatusCode.RESOURCE_EXHAUSTED}
