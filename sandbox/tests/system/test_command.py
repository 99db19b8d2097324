"""hiero-sandbox: the sandbox alone, without the marketplace."""

import base64
import re
import signal
import socket
import subprocess
import time
from contextlib import closing, contextmanager

import grpc
import pytest
from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.response_pb2 import Response

from hiero_sandbox.hapi.address import HOST
from hiero_sandbox.ledger.genesis import known_accounts
from sandbox.tests import hapi
from sandbox.tests.bodies import sign, transfer
from sandbox.tests.command import COMMAND, ROOT, ask, options, reserved_port, running

GIFT = {"accountId": "0.0.1002", "amount": 7}


def test_it_serves_rest_and_grpc(tmp_path):
    with running() as (process, ports):
        assert ask(ports, "/api/v1/accounts/0.0.1002")["balance"]["balance"] == 10**12
        [node] = ask(ports, "/api/v1/network/nodes")["nodes"]
        assert node["service_endpoints"][0]["port"] == ports["node"]
        assert ask(ports, "/faucet", GIFT)["result"] == "SUCCESS"
        with grpc.insecure_channel(f"{HOST}:{ports['node']}") as channel:
            query = hapi.query("cryptoGetInfo", hapi.COST, accountID={"accountNum": 1002})
            content = channel.unary_unary(hapi.ACCOUNT)(query, timeout=60)
        assert Response.FromString(content).cryptoGetInfo.header.cost == 83_333  # $0.0001
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(30)
        assert process.returncode == 0
        assert time.monotonic() - began < 10


def test_a_file_is_kept_and_memory_is_not(tmp_path):
    for arguments, expected in (("--data", str(tmp_path / "ledger.db")), 10**12 + 7), ((), 10**12):
        with running(*arguments) as (_, ports):
            ask(ports, "/faucet", GIFT)
        with running(*arguments) as (_, ports):
            assert ask(ports, "/api/v1/accounts/0.0.1002")["balance"]["balance"] == expected


@contextmanager
def taken_port():
    with closing(socket.create_server((HOST, 0))) as taken:
        yield taken.getsockname()[1]


@pytest.mark.parametrize("kind", ["rest", "node", "mirror"])
def test_a_port_that_is_taken_stops_the_start(kind):
    with taken_port() as port:
        ended = subprocess.run(
            [*COMMAND, *options(kind, 0, port)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert ended.returncode == 1
    what = f"Error: Port {port} can't be used: Address already in use"
    assert ended.stderr == f"{what}. --skip-taken leaves it out\n"


@pytest.mark.parametrize("kind", ["rest", "node", "mirror"])
def test_skip_taken_leaves_it_out(kind):
    with taken_port() as port:
        arguments = [*COMMAND, "--skip-taken", *options(kind, port, 0)]
        process = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            hello = process.stdout.readline()
        finally:
            process.kill()
            process.communicate()
    assert "mirror node's gRPC" in hello
    assert str(port) not in hello


def test_skip_taken_needs_one_port_of_each_kind():
    with taken_port() as port:
        arguments = [*COMMAND, "--skip-taken", *options("node", port)]
        ended = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.stderr == f"Error: Port {port} can't be used: Address already in use\n"


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no ledger" * 100)
    ended = subprocess.run(
        [*COMMAND, "--data", path, *options("rest", 0)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Error: {path} can't be the sandbox's ledger: ")
    assert path.read_text() == "no ledger" * 100


def test_the_start_has_what_a_shell_needs():
    with running("--accounts", "solo") as (process, _):
        lines = [process.stdout.readline() for _ in range(3)]
    assert lines[0].startswith("Operator 0.0.1002, ECDSA key 105d0501")
    shell = "".join(lines[1:]) + 'echo "$OPERATOR_ID $OPERATOR_KEY"'
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    account_id, key = ended.stdout.split()
    assert account_id == "0.0.1002"
    assert PrivateKey.from_string(key).is_ecdsa()


def test_a_state_is_dumped_loaded_and_logged(tmp_path):
    path, log = tmp_path / "state.json", tmp_path / "log"
    key = known_accounts()[1].private_key
    content = base64.b64encode(sign(transfer("0.0.1002", {"0.0.1002": -1, "0.0.3": 1}), key))
    options = ("--dump-state", str(path), "--log")
    with log.open("w") as errors, running(*options, stderr=errors) as (process, ports):
        ask(ports, "/faucet", GIFT)
        assert ask(ports, "/transactions", {"transaction": content.decode()})["result"] == "SUCCESS"
        shown = ask(ports, "/api/v1/transactions")
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert re.search(r"0\.0\.1002@\S+ CRYPTOTRANSFER: SUCCESS\n", log.read_text())
    with running("--load-state", str(path)) as (_, ports):
        assert ask(ports, "/api/v1/transactions") == shown


def test_the_relays_port_may_be_taken():
    with taken_port() as port:
        arguments = [word for word in options("rest", 0) if word != "--no-relay"]
        command = [*COMMAND, *arguments, "--relay-port", str(port)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert f"Error: Port {port} can't be used" in ended.stderr
        process = subprocess.Popen(
            [*command, "--skip-taken"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            lines = [process.stdout.readline() for _ in range(2)]
        finally:
            process.kill()
            process.communicate()
    assert lines[1].startswith("Operator")


def test_a_phone_can_type_an_address_of_this_machine():
    with reserved_port() as port:
        relay = ("--relay-host", "0.0.0.0", "--relay-port", str(port))
        with running(*relay) as (process, _):
            line = process.stdout.readline()
    assert re.fullmatch(rf"Relay of .*: ws://\d+\.\d+\.\d+\.\d+:{port}\n", line)
    assert "0.0.0.0" not in line
