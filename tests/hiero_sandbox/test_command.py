"""hiero-sandbox: the sandbox alone, without the marketplace."""

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from urllib.request import Request, urlopen

import grpc
import pytest
from hiero_sdk_python.hapi.services.response_pb2 import Response

from hiero_sandbox.hapi.address import HOST
from tests.hiero_sandbox import hapi
from tests.serving import ROOT, reserved_port

COMMAND = [sys.executable, "-m", "hiero_sandbox"]


@contextmanager
def running(*arguments):
    """The command on free ports, until it is not needed; yields it with its ports."""
    with reserved_port() as rest, reserved_port() as node, reserved_port() as mirror:
        ports = {"rest": rest, "node": node, "mirror": mirror}
        options = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
        process = subprocess.Popen(
            [*COMMAND, *options, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            for line in process.stdout:
                if "Address book" in line:
                    break
            yield process, ports
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def ask(ports, path, body=None):
    content = body and json.dumps(body).encode()
    request = Request(
        f"http://{HOST}:{ports['rest']}{path}", content, {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_it_serves_rest_and_grpc(tmp_path):
    with running() as (process, ports):
        assert ask(ports, "/api/v1/accounts/0.0.1001")["balance"]["balance"] == 10**12
        [node] = ask(ports, "/api/v1/network/nodes")["nodes"]
        assert node["service_endpoints"][0]["port"] == ports["node"]
        moved = {"tokenId": "0.0.6006", "serialNo": 1, "accountId": "0.0.1002"}
        assert ask(ports, "/transfers", moved)["result"] == "SUCCESS"
        with grpc.insecure_channel(f"{HOST}:{ports['node']}") as channel:
            query = hapi.query("cryptoGetInfo", hapi.COST, accountID={"accountNum": 1002})
            content = channel.unary_unary(hapi.ACCOUNT)(query, timeout=60)
        assert Response.FromString(content).cryptoGetInfo.header.cost == 100_000
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(30)
        assert process.returncode == 0
        assert time.monotonic() - began < 10


def test_a_file_is_kept_and_memory_is_not(tmp_path):
    moved = {"tokenId": "0.0.6006", "serialNo": 1, "accountId": "0.0.1002"}
    path = "/api/v1/tokens/0.0.6006/nfts/1"
    for arguments, owner in (("--data", str(tmp_path / "ledger.db")), "0.0.1002"), ((), "0.0.1000"):
        with running(*arguments) as (_, ports):
            ask(ports, "/transfers", moved)
        with running(*arguments) as (_, ports):
            assert ask(ports, path)["account_id"] == owner


@pytest.mark.parametrize("name", ["rest", "node", "mirror"])
def test_a_port_that_is_taken_stops_the_start(name):
    with closing(socket.create_server((HOST, 0))) as taken:
        port = str(taken.getsockname()[1])
        options = [f"--{name}-port", port]
        with reserved_port() as first, reserved_port() as second, reserved_port() as third:
            ports = {"rest": first, "node": second, "mirror": third}
            ports.pop(name)
            options += [
                word for each, free in ports.items() for word in (f"--{each}-port", str(free))
            ]
            ended = subprocess.run(
                [*COMMAND, *options], cwd=ROOT, capture_output=True, text=True, timeout=60
            )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Error: Port {port} can't be used: Address already in use")


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no ledger" * 100)
    ended = subprocess.run(
        [*COMMAND, "--data", path], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Error: {path} can't be the sandbox's ledger: ")
    assert path.read_text() == "no ledger" * 100
