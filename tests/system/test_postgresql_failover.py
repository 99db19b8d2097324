"""Servers of PostgreSQL fail under two services: nothing acknowledged is lost, nothing stale is answered."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.network import reserved_port
from harness.postgresql import Proxy
from stress.failover import FAULTS, TOKEN, stage


@pytest.fixture(scope="module")
def this(tmp_path_factory):
    with stage(tmp_path_factory.mktemp("failover")) as this:
        yield this


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_lost_and_nothing_is_stale(this, fault):
    outcome = this.suffer(FAULTS[fault], seconds=0.5)
    assert outcome.lost == 0
    assert outcome.stale == []
    assert outcome.wrong == []
    assert outcome.slowest < 30  # five on a machine that has nothing else to do


@pytest.mark.parametrize("fault", ["kill_the_primary", "cut_off_the_primary"])
def test_nobody_is_refused_after_a_failover_that_nobody_saw(this, fault):
    this.add(this.services[0], 1)

    def write_and_read(i):
        service = this.services[i % 2]
        this.prepare(service, next(this.serial_numbers))
        return this.ask(service, f"/v1/nft/{TOKEN}/1")["serialNo"]

    # Fewer clients than threads: on a busy machine who queues may wait for longer than is promised.
    with ThreadPoolExecutor(4) as clients:
        assert set(clients.map(write_and_read, range(24))) == {1}
        with FAULTS[fault](this.servers):
            this.servers.wait(1)
            assert set(clients.map(write_and_read, range(24))) == {1}


class StallingProxy(Proxy):
    """Passes nothing on for three seconds once it has passed four megabytes, as a busy machine may do."""

    left = 4_000_000

    def alter(self, received, is_answer):
        before, self.left = self.left, self.left - len(received)
        if before > 0 >= self.left:
            self.freeze()
            threading.Timer(3, self.thaw).start()
        return received


def test_a_standby_is_copied_although_the_machine_stalls(this):
    """The primary ended the copy after two seconds without an answer, and the whole run with it."""
    primary, standby = this.servers.primary, this.servers.standbys[0]
    standby.kill()
    with reserved_port() as port, StallingProxy(port, primary.port) as stalling:
        standby.copy(port)
        assert stalling.left < 0
    this.servers.join(standby)
    this.servers.wait()
