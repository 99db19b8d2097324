"""The command hiero-sandbox, started in a process of its own."""

import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from hiero_sandbox.hapi.address import HOST

ROOT = Path(__file__).parents[2]  # the clone
COMMAND = [sys.executable, "-m", "hiero_sandbox"]


@contextmanager
def reserved_port():
    """Reserve a free port for a server that sets SO_REUSEADDR, as all here do. Nobody else can get it."""
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind((HOST, 0))
        yield keeper.getsockname()[1]


def run(*command, **options):
    """Run a program in the clone to its end; returns its output. It must succeed."""
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}"
    return ended.stdout


@contextmanager
def running(*arguments, stderr=None):
    """The command on free ports, until it is not needed; yields it with its ports."""
    with reserved_port() as rest, reserved_port() as node, reserved_port() as mirror:
        ports = {"rest": rest, "node": node, "mirror": mirror}
        options = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
        relay = () if "--relay-port" in arguments else ("--no-relay",)
        process = subprocess.Popen(
            [*COMMAND, *options, *relay, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        try:
            hello = process.stdout.readline()
            assert (
                f"http://{HOST}:{rest}, node {HOST}:{node}, mirror node's gRPC {HOST}:{mirror},"
                in hello
            )
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


def options(kind, *ports):
    """Options for ports of one kind; any ports for the other kinds."""
    given = {"rest": (0,), "node": (0,), "mirror": (0,)} | {kind: ports}
    words = [
        word for name in given for port in given[name] for word in (f"--{name}-port", str(port))
    ]
    return [*words, "--no-relay"]
