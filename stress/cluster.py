"""Three PostgreSQL servers, a primary and two standbys, that can be made to fail."""

import contextlib
import secrets

from harness.network import reserved_port
from harness.postgresql import DATABASE, Proxy, Server, server_folder, until


class Cluster:
    """A primary and two standbys: a commit is acknowledged once one of the standbys has it, too.

    A proxy stands before each server, for its clients and for its standbys. Only promote() and switch() make
    another one the primary.
    """

    def __init__(self, folder, ports):
        password = secrets.token_hex(16)
        settings = {
            "synchronous_standby_names": "ANY 1 (a, b, c)",
            "wal_receiver_timeout": "2s",
            "wal_retrieve_retry_interval": "100ms",
            "wal_keep_size": "256MB",
        }
        self.servers = [
            Server(folder / name, port, password, **settings)
            for name, port in zip("abc", ports[:3], strict=True)
        ]
        self.proxies = {
            server: Proxy(port, server.port)
            for server, port in zip(self.servers, ports[3:], strict=True)
        }
        self.primary = self.servers[0]

    @property
    def standbys(self):
        return [server for server in self.servers if server is not self.primary]

    @property
    def url(self):
        """The address of the database on all three servers, whichever is the primary."""
        hosts = ",".join(f"127.0.0.1:{proxy.port}" for proxy in self.proxies.values())
        return f"postgresql://market:{self.primary.password}@{hosts}/market"

    def start(self):
        self.primary.create()
        self.primary.start()
        for standby in self.standbys:
            self.join(standby)
        role = f"CREATE ROLE market LOGIN PASSWORD '{self.primary.password}'"
        self.primary.execute(role)
        self.primary.execute(f"CREATE DATABASE market OWNER market {DATABASE}")

    def join(self, server):
        """Make a server, whatever it was before, a new standby of the primary."""
        server.copy(self.primary.port)
        server.follow(self.proxies[self.primary].port)
        server.start()

    def promote(self, standby):
        """Make a standby the primary, when the old one takes no more writes. The others follow it."""
        standby.execute("SELECT pg_promote()")
        self.primary = standby
        for server in self.standbys:
            if server.is_running:
                server.follow(self.proxies[standby].port)

    def fail_over(self):
        """Kill the primary if it still runs, and promote the standby that has received most from it."""
        self.primary.kill()
        standbys = [server for server in self.standbys if server.is_running]
        receiving = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'"
        for standby in standbys:
            until(lambda it=standby: it.execute(receiving) == [(0,)], "a standby still receives")
        received = """
            SELECT GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'
        """
        self.promote(max(standbys, key=lambda standby: standby.execute(received)))

    def switch(self, standby):
        """Let a standby take over as planned; the primary comes back as a standby of it."""
        before = self.primary
        before.stop()
        self.promote(standby)
        before.follow(self.proxies[standby].port)
        before.start()

    def wait(self, standbys=2):
        """Wait until this many standbys follow the primary."""
        count = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        until(lambda: self.primary.execute(count)[0][0] >= standbys, "the standbys do not follow")


@contextlib.contextmanager
def cluster():
    """A new cluster. Nothing of it is left afterwards."""
    with server_folder() as folder, contextlib.ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in range(6)]
        servers = Cluster(folder, ports)
        for server, proxy in servers.proxies.items():
            stack.callback(server.kill)
            stack.enter_context(proxy)
        servers.start()
        yield servers
