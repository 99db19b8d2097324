"""Turns at the mirror node: callers take turns, and who cannot be served in time is refused."""

import json
import threading
import time
from contextlib import ExitStack, closing

import pytest

from harness import network
from harness.network import serve_raw
from marketplace.errors import LedgerBusy, LedgerUnreachable
from marketplace.ledger.mirror import MirrorNode
from marketplace.ledger.rate import Deadline, MirrorRate

RATE = 40  # a second
AT = 1_700_000_000_000_000_005


class Asking:
    """Clients that ask one question after the other, and the order in which they were allowed to."""

    def __init__(self, rate):
        self._rate, self._order, self._threads = rate, [], []

    def ask(self, caller, questions, seconds=4.0):
        """Begin a request of a caller, in a thread of its own."""
        begun = threading.Event()

        def ask():
            with self._rate.request(caller, seconds) as deadline:
                begun.set()
                try:
                    for _ in range(questions):
                        self._rate.wait(deadline)
                        self._order.append(caller)
                except LedgerBusy:
                    self._order.append(f"{caller} refused")

        self._threads.append(threading.Thread(target=ask))
        self._threads[-1].start()
        begun.wait()

    def order(self):
        for thread in self._threads:
            thread.join()
        return self._order


@pytest.fixture
def asking(tmp_path):
    return Asking(MirrorRate(tmp_path, RATE))


def test_a_request_that_has_begun_finishes_before_later_ones(asking):
    asking.ask("a", 9)
    asking.ask("b", 2)
    order = asking.order()
    assert order.index("b") >= 8
    assert len(order) == 11


def test_a_callers_second_request_waits_for_the_first_ones_of_others(asking):
    for _ in range(4):
        asking.ask("greedy", 5)
    time.sleep(1 / RATE)
    asking.ask("b", 5)
    order = asking.order()
    assert "b" not in order[:4]
    assert max(place for place, who in enumerate(order) if who == "b") <= 12


def test_it_refuses_a_caller_whose_turn_comes_after_the_deadline(asking):
    asking.ask("a", 20)
    asking.ask("b", 1, seconds=0.7)
    order = asking.order()
    assert "b refused" in order[:12]
    assert order.count("a") == 20


def test_a_crowd_is_refused_at_once(tmp_path):
    rate = MirrorRate(tmp_path, 10)
    refused = []

    def ask(number):
        began = time.monotonic()
        with rate.request(f"caller {number}", 1) as deadline:
            try:
                rate.wait(deadline)
            except LedgerBusy as error:
                refused.append((time.monotonic() - began, int(error.headers["Retry-After"])))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) >= 20
    assert len([seconds for seconds, _ in refused if seconds < 0.3]) >= 15
    assert {after for _, after in refused} == {1}


def test_one_basket_is_answered_at_a_time(tmp_path):
    rate = MirrorRate(tmp_path, RATE)
    with rate.request("a", 4, nfts=9):
        with pytest.raises(LedgerBusy) as refused, rate.request("b", 4, nfts=9):
            pass
        with rate.request("c", 4) as deadline:
            rate.wait(deadline)
    assert refused.value.headers == {"Retry-After": "2"}
    with rate.request("b", 4, nfts=20):
        pass


def test_processes_share_the_rate(tmp_path):
    """They need not know of each other."""
    rates = [MirrorRate(tmp_path, RATE) for _ in range(2)]
    began = time.monotonic()
    for _ in range(10):
        for rate in rates:
            rate.wait(Deadline(4))
    assert time.monotonic() - began == pytest.approx(19 / RATE, abs=0.1)


@pytest.fixture
def connect(tmp_path):
    with ExitStack() as opened:

        def connect(answer):
            url = opened.enter_context(serve_raw(answer))
            limit = MirrorRate(tmp_path, 1000)
            mirror = MirrorNode({}, limit, url, lambda *_, **__: None)
            return opened.enter_context(closing(mirror))

        yield connect


def shown():
    row = {
        "consensus_timestamp": "1700000000.000000005",
        "name": "CRYPTOAPPROVEALLOWANCE",
        "result": "SUCCESS",
        "transaction_id": "0.0.1001-1700000000-000000000",
    }
    return network.response(json.dumps({"transactions": [row]}).encode())


def test_a_transaction_that_many_ask_for_at_once_is_asked_for_once(connect):
    """A report of twenty NFTs that were listed together asked for it seventeen times."""
    asked = []

    def answer(connection):
        asked.append(1)
        time.sleep(0.2)
        connection.sendall(shown())

    mirror = connect(answer)
    found = mirror.ask(*[lambda: mirror.find_transaction(AT, Deadline(4))] * 20)
    assert {transaction.consensus_at for transaction in found} == {AT}
    assert len(found) == 20
    assert len(asked) == 1


def test_a_failure_of_who_had_less_time_is_nobody_elses(connect):
    asked, release = [], threading.Event()

    def answer(connection):
        asked.append(1)
        if len(asked) == 1:
            release.wait(10)
        connection.sendall(shown())

    mirror = connect(answer)

    def fail():
        with pytest.raises(LedgerUnreachable):
            mirror.find_transaction(AT, Deadline(0.3))

    hasty = threading.Thread(target=fail)
    hasty.start()
    while not asked:
        time.sleep(0.01)
    assert mirror.find_transaction(AT, Deadline(4)).consensus_at == AT
    release.set()
    hasty.join()
