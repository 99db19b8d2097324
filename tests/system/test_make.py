"""``make run``: how its processes begin and end in a terminal, and what it says where it cannot serve."""

import os
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPException

import pytest

from harness.network import PATIENCE_SECONDS, is_free, reserved_port
from harness.postgresql import until
from harness.serving import BIN, ROOT, environment, run_program

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")

ENDED_SECONDS = 15  # two on a quiet machine; a worker that hangs takes thirty
INSTALLING_SECONDS = 3 * PATIENCE_SECONDS  # an environment, and all linters of the project
TIMES = int(os.environ.get("TEST_TIMES", 3))
# What is installed is left alone, whatever its age. The sample takes some seconds.
MAKE = ["make", "-s", "-o", ".venv/installed", "SAMPLE=no", f"BIN={BIN}", "run"]
STARTED = (b"/v1/orderbook?limit=1'", b"Hedera SDKs", b"Following sandbox")


class Terminal:
    """``make run`` under a shell in a terminal of its own; what it shows is in ``shown``."""

    def __init__(self, folder, *settings):
        command = shlex.join([*MAKE, *settings])
        self.pid, self.ours = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and so would the shell
            os.execvpe("bash", ["bash", "-c", f"echo A shell; {command}; exit"], environment())
        self.shown, self.status = b"", None
        self.wait_for(b"A shell")  # a Ctrl-C before would be lost in the process that becomes it

    def read(self, seconds):
        if select.select([self.ours], [], [], seconds)[0]:
            with suppress(OSError):  # what a terminal says at its end
                self.shown += os.read(self.ours, 65536)

    def read_until(self, condition):
        started = time.monotonic()
        while not condition():
            self.read(0.01)
            assert time.monotonic() - started < PATIENCE_SECONDS, self.shown.decode()
        return time.monotonic() - started

    def wait_for(self, *words):
        self.read_until(lambda: all(word in self.shown for word in words))

    def press(self, key):
        """Press a key; returns the seconds until all has ended."""
        os.write(self.ours, key)
        return self.read_until(self.has_ended)

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def close(self):
        if self.ours is not None:
            os.close(self.ours)
            self.ours = None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What make run reads of a clone, in a folder of its own."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("Makefile", "app.py", "wsgi.py", "config.py"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@contextmanager
def make_run(folder):
    with reserved_port() as port, reserved_port() as node_port:
        terminal = Terminal(folder, f"PORT={port}", f"GRPC_PORT={node_port}")
        terminal.ports = (port, node_port)
        try:
            yield terminal
        finally:
            terminal.close()
            if not terminal.has_ended():
                os.killpg(terminal.pid, signal.SIGTERM)
                os.waitpid(terminal.pid, 0)


def ask(port, times):
    """Ask for pages, some connections at once, which stay open for a while."""

    def one(_):
        with suppress(OSError, HTTPException):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE_SECONDS).read()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(times)))


def are_free(ports):
    return all(map(is_free, ports))


def test_ctrl_c_ends_all_of_it_at_once(folder):
    for _ in range(TIMES):
        with make_run(folder) as terminal, ThreadPoolExecutor() as pool:
            terminal.wait_for(*STARTED)
            ask(terminal.ports[0], 20)
            asking = pool.submit(ask, terminal.ports[0], 200)
            seconds = terminal.press(b"\x03")
            assert are_free(terminal.ports)
            asking.result()
        print(f"Ctrl-C: ended after {seconds:.2f} s")
        assert seconds < ENDED_SECONDS, terminal.shown.decode()
        for word in (b"Traceback", b"SIGKILL", b"Error"):
            assert word not in terminal.shown, terminal.shown.decode()


def test_ctrl_c_while_it_begins(folder):
    for number in range(TIMES):
        with make_run(folder) as terminal:
            started = time.monotonic()
            while time.monotonic() < started + 0.5 + number / 4:
                terminal.read(0.01)
            seconds = terminal.press(b"\x03")
            assert are_free(terminal.ports)
        print(f"Ctrl-C while it begins: ended after {seconds:.2f} s")
        assert seconds < ENDED_SECONDS, terminal.shown.decode()


def test_the_addresses_are_there_before_the_first_answer(folder):
    with make_run(folder) as terminal:
        port = terminal.ports[0]
        status = f"http://127.0.0.1:{port}/status"
        until(lambda: not is_free(port), "nobody listens")
        with urllib.request.urlopen(status, timeout=PATIENCE_SECONDS) as served:
            environ = (folder / "instance/sandbox.env").read_text()
            assert f"export NODE=127.0.0.1:{terminal.ports[1]}\n" in environ
            (relay,) = re.findall("^export RELAY=(ws://.*)$", environ, re.MULTILINE)
            terminal.wait_for(f"relayUrl: {relay} ".encode())
            assert served.status == 200
        terminal.press(b"\x03")
    assert not (folder / "instance/sandbox.env").exists()


def test_a_terminal_that_is_closed_leaves_nothing_behind(folder):
    with make_run(folder) as terminal:
        terminal.wait_for(*STARTED)
        terminal.close()
        until(lambda: are_free(terminal.ports), "somebody still listens")


def test_what_the_start_says(folder):
    with make_run(folder) as terminal:
        terminal.wait_for(*STARTED)
        port, node_port = terminal.ports
        assert (folder / "instance/sandbox-node").read_text() == f"127.0.0.1:{node_port}"
        shown = terminal.shown.decode()
        [curl] = re.findall(r"^ *(curl .*)\r$", shown, re.MULTILINE)
        assert run_program("bash", "-c", curl).stdout.strip() == "[]"
        # Another sandbox on this machine may serve some of them, or all.
        [(said, further)] = re.findall(r"^  forLocalNode\(\) (.*REST.*) ports (.*)\r$", shown, re.M)
        served_ports = "" if "no REST" in said else further.partition("(")[0]
        assert sorted(map(int, re.findall("[0-9]+", further))) == [5551, 8084, 38081]
        for each in [str(port), *re.findall("[0-9]+", served_ports)]:
            with urllib.request.urlopen(f"http://127.0.0.1:{each}/api/v1/network/nodes") as served:
                assert f'"port":{node_port}' in served.read().decode()
        terminal.press(b"\x03")
    assert len(re.findall(rf"^  Demo +http://127.0.0.1:{port}/\r$", shown, re.MULTILINE)) == 1
    node = f'Client.forNetwork({{"127.0.0.1:{node_port}": "0.0.3"}})'
    assert shown.count(f"  Hedera SDKs    {node}\r\n") == 1


def refuse(folder, *settings):
    """What make run says, where it does not begin."""
    options = {"cwd": folder, "env": environment(), "timeout": PATIENCE_SECONDS}
    ended = run_program(*MAKE, "-f", ROOT / "Makefile", *settings, **options)
    assert ended.returncode != 0
    return ended.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_a_port_that_is_taken(folder, host):
    with socket.create_server((host, 0)) as taken:
        port = taken.getsockname()[1]
        words = f"Port {port} is taken: end what listens there, or use another: make run PORT="
        assert refuse(folder, f"PORT={port}").startswith(words)


@pytest.mark.parametrize("setting", ["PORT=abc", "PORT=80700", "GRPC_PORT=-1"])
def test_a_port_that_is_none(folder, setting):
    assert refuse(folder, setting).startswith(f"{setting} is not a port: take a number up to 65535")


def test_a_second_one_leaves_the_first_alone(folder):
    with make_run(folder) as terminal, reserved_port() as port:
        terminal.wait_for(*STARTED)
        before = (folder / "instance/sandbox.env").read_text()
        assert f"export MARKET=http://127.0.0.1:{terminal.ports[0]}\n" in before
        words = "make run serves the data in instance already, where instance/sandbox.env says."
        assert refuse(folder, f"PORT={port}").startswith(words)
        assert (folder / "instance/sandbox.env").read_text() == before


def fail_to_install(folder, *settings, **environ):
    """What make run says in a folder that has nothing but the Makefile and what it installs; without uv."""
    for name in ("Makefile", "requirements.txt", "sandbox", "constraints.txt"):
        (folder / name).symlink_to(ROOT / name)
    environ = environment() | {"PATH": "/usr/bin:/bin"} | environ
    options = {"cwd": folder, "env": environ, "timeout": INSTALLING_SECONDS}
    ended = run_program("make", "-s", "run", *settings, **options)
    assert ended.returncode != 0
    return ended.stdout


def test_a_missing_python_is_named(tmp_path):
    assert fail_to_install(tmp_path, "PYTHON=python3.99") == (
        "Python 3.11 or newer is needed, and there is no python3.99. Try: make PYTHON=python3.12\n"
    )


def test_a_virtual_environment_that_could_not_be_made_is_not_kept(tmp_path):
    """As Debian's Python without python3-venv leaves it."""
    python = tmp_path / "python"
    python.write_text(
        f'[ "$1" = -c ] && exec {sys.executable} "$@"\n'
        "mkdir -p .venv/bin; touch .venv/bin/python; echo no ensurepip; exit 1\n"
    )
    python.chmod(0o755)
    *_, last = fail_to_install(tmp_path, f"PYTHON={python}").splitlines()
    assert not (tmp_path / ".venv").exists()
    assert last == ".venv could not be made. On Debian, as root: apt-get install python3-venv"


@pytest.mark.parametrize("uv", ["", BIN / "uv"])
def test_without_a_network(tmp_path, uv):
    nowhere = "http://127.0.0.1:9/simple"
    environ = {"PIP_INDEX_URL": nowhere, "PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": ""}
    environ |= {"UV_DEFAULT_INDEX": nowhere, "UV_NO_CACHE": "1"}
    said = fail_to_install(tmp_path, f"PYTHON={sys.executable}", f"UV={uv}", **environ)
    *_, last = said.splitlines()
    assert "Can the package index be reached from here" in last
    assert not (tmp_path / ".venv/installed").exists()


def test_the_linters_leave_a_users_own_programs_alone(tmp_path):
    """The README's program, for example, which a newcomer saves in the clone."""
    clone = tmp_path / "clone"
    run_program("git", "clone", "--quiet", str(ROOT), str(clone), timeout=INSTALLING_SECONDS)
    (clone / "sell.py").write_text("import os, sys, unused\n")
    make = ["make", "-s", "-o", ".venv/installed-dev", f"BIN={BIN}", "lint-style"]
    options = {"cwd": clone, "env": environment(), "timeout": INSTALLING_SECONDS}
    untracked = run_program(*make, **options)
    assert untracked.returncode == 0, untracked.stdout
    run_program("git", "add", "sell.py", cwd=clone, timeout=INSTALLING_SECONDS)
    assert run_program(*make, **options).returncode != 0
