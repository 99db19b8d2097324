"""Runs the service as an operator does: gunicorn with our configuration, in its own folder, on its own port.

It also runs other programs, beside the service or to their end.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError

from click.testing import CliRunner
from flask.cli import FlaskGroup

from harness.engines import database_settings, database_url
from harness.network import PATIENCE_SECONDS, reserved_port
from harness.postgresql import until
from marketplace import create_app
from marketplace.services import services

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
CONFIGURATION = ROOT / "gunicorn.conf.py"
# The query of GET /v1/nfts for ids longer than those of mainnet, with colons as browsers write them.
HUNDRED_NFTS = "&".join(f"id=0.0.1012345678%3A123456{number:03}" for number in range(100))


def environment(**settings):
    """The environment variables, with these settings of the service and no others."""
    environ = {name: value for name, value in os.environ.items() if "MARKETPLACE" not in name}
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ |= {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(path)}
    if "DATA_DIR" in settings:
        environ["PROMETHEUS_MULTIPROC_DIR"] = f"{settings['DATA_DIR']}/metrics"
    return environ | {f"MARKETPLACE_{name}": str(value) for name, value in settings.items()}


def run_flask(folder, *arguments, **settings):
    """Run a flask command in this process, which is a second quicker than in a new one."""
    defaults = {"DATABASE_URL": database_url(folder), "DATA_DIR": str(folder)}
    apps = []

    def make_app():
        apps.append(create_app(**defaults | settings))
        return apps[0]

    ended = CliRunner().invoke(FlaskGroup(create_app=make_app), arguments)
    for app in apps:
        services(app).database.close()
    return ended


def run_program(*command, check=False, **options):
    """Run a program to its end, with its output as text. If ``check`` is set, it must succeed."""
    ended = subprocess.run(command, **{"capture_output": True, "text": True} | options)
    assert ended.returncode == 0 or not check, f"{ended.stdout}{ended.stderr}"
    return ended


def run_python(code, *arguments, **options):
    """Run Python code, in the clone unless ``cwd`` is given; returns its output. It must succeed."""
    command = (sys.executable, "-c", code, *arguments)
    return run_program(*command, check=True, **{"cwd": ROOT} | options).stdout


def begin_flask(own, *arguments, variables=None, **options):
    """Start a flask command in a process of its own, with these settings. Its output is in pipes."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = ["flask", "--app", "wsgi", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment(**own) | (variables or {}), **pipes | options
    )


def children(pid):
    """The ids of a process's children."""
    with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
        lists = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for each in lists for child in each.read_text().split()]
    return []


def descendants(pid):
    """The ids of a process's children, of their children, and so on."""
    for child in children(pid):
        yield child
        yield from descendants(child)


class Service:
    def __init__(self, folder, port, environ):
        self.folder = folder
        self.port = port
        self.url = environ.get("MARKETPLACE_PUBLIC_URL")
        self.environ = environ
        self.process = None
        self.log = None
        self.output = None  # what it printed, once it has stopped

    def run(self, *command, check=True):
        """Run an operator's command beside the service."""
        return run_program(*command, check=check, cwd=self.folder, env=self.environ)

    def flask(self, *arguments, check=True):
        return self.run("flask", "--app", "wsgi", *arguments, check=check)

    def get(self, path, **headers):
        request = urllib.request.Request(f"{self.url}{path}", headers=headers)
        return urllib.request.urlopen(request, timeout=PATIENCE_SECONDS)

    @property
    def token(self):
        """The sandbox's own access token."""
        return (self.folder / "instance/sandbox-token").read_text()

    def call(self, path, body=None, token=None):
        """Call with the sandbox's token or another; returns the JSON. Raises HTTPError or OSError."""
        authorization = f"Bearer {token or self.token}"
        headers = {"Authorization": authorization, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            return json.load(response)

    def answers(self):
        with suppress(OSError), self.get("/status") as response:
            return response.status == 200
        return False

    def workers(self):
        """The ids of gunicorn's workers."""
        return children(self.process.pid)

    def wait_for_other_workers(self, before):
        """Wait until none of these workers is left, and there are others."""
        until(lambda: self.workers() and not {*before} & {*self.workers()}, "no other workers")

    @contextmanager
    def running(self, command, output=None, **options):
        """Run a server in the folder, and stop it at the end. It prints to a file, or to ``output``."""
        # Not a pipe: if nobody reads it, a program that writes much into it stops.
        with tempfile.TemporaryFile("w+") as self.log:
            options |= {"stdout": output or self.log, "stderr": subprocess.STDOUT}
            self.process = subprocess.Popen(command, cwd=self.folder, env=self.environ, **options)
            try:
                until(self._has_started, "the service did not start")
                yield self
            finally:
                if self.output is None:
                    self.stop()

    def _has_started(self):
        assert self.process.poll() is None, self.printed()
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/status", timeout=5).close()
        except HTTPError as error:
            error.close()  # a host has no such page
        except OSError:
            return False
        return True

    def stop(self):
        if self.process.poll() is None and os.getpgid(self.process.pid) == self.process.pid:
            os.killpg(self.process.pid, signal.SIGTERM)
        else:
            self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)
        self.output = self.printed()

    def printed(self):
        self.log.seek(0)
        return self.log.read()


@contextmanager
def node(folder, port=0, also=()):
    """Run the sandbox's node in a folder, as make run does; yields its process, with its port."""
    further = [f"--also={each}" for each in also]
    with _beside(folder, "sandbox", "node", "--port", str(port), *further) as process:
        process.port = _port_of(process, folder / "instance/sandbox-node")
        yield process


@contextmanager
def watcher(folder, **settings):
    """Run the watcher in a folder, as make run does; yields its process."""
    with _beside(folder, "watch", **settings) as process:
        yield process


@contextmanager
def _beside(folder, *command, **settings):
    """Run a flask command until the end of the block; yields its process, which has its output afterwards."""
    environ = environment(**database_settings(folder) | settings)
    command = ["flask", "--app", "wsgi", *command]
    with tempfile.TemporaryFile("w+") as log:
        pipes = {"stdout": log, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, cwd=folder, env=environ, **pipes)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
            log.seek(0)
            process.output = log.read()


def _port_of(node, file):
    def has_port():
        assert node.poll() is None, "the node ended"
        return file.exists() and file.read_text()

    until(has_port, "the node did not start")
    return int(file.read_text().rpartition(":")[2])


@contextmanager
def serve(folder, *arguments, output=None, **settings):
    """Start gunicorn, and stop it at the end. What it prints goes to a file of its own, or to ``output``."""
    with reserved_port() as port:
        defaults = database_settings(folder) | {"PUBLIC_URL": f"http://127.0.0.1:{port}"}
        service = Service(folder, port, environment(**defaults | settings))
        command = ["gunicorn", "-c", CONFIGURATION, "--bind", f"127.0.0.1:{port}", *arguments]
        with service.running(command, output):
            yield service


@contextmanager
def sandbox_market(folder, *arguments, **settings):
    """Run all that make run does: the service with its access token, the node and the watcher."""
    with (
        serve(folder, *arguments, **settings) as service,
        node(folder) as service.node,
        watcher(folder, PUBLIC_URL=service.url) as service.watcher,
    ):
        yield service
    said = service.output + service.node.output + service.watcher.output
    assert "Traceback" not in said, said[said.index("Traceback") :][:3000]
