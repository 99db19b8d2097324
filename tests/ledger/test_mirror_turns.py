"""Turns at the mirror node: a request takes all that it needs or none, and a caller only its share."""

import json
import threading
import time
from contextlib import ExitStack, closing

import pytest

from harness import network
from harness.network import serve_raw
from marketplace.errors import LedgerBusy, LedgerUnreachable
from marketplace.ledger.deadline import Deadline
from marketplace.ledger.mirror import MirrorNode
from marketplace.ledger.mirror_rate_limit import MirrorRateLimit

RATE = 40  # a second: 120 turns come within three seconds
AT = 1_700_000_000_000_000_005


@pytest.fixture
def take(tmp_path):
    """Take turns, until the end of the test."""
    limit = MirrorRateLimit(tmp_path, RATE)
    with ExitStack() as held:
        yield lambda caller, count: held.enter_context(limit.taken(caller, count, 4))


def test_a_caller_holds_half_of_what_others_leave(take):
    take("a", 40)
    take("a", 19)
    with pytest.raises(LedgerBusy):
        take("a", 10)
    take("b", 29)
    with pytest.raises(LedgerBusy):
        take("b", 10)
    take("c", 14)


def test_a_caller_without_turns_may_take_many_of_the_first(take):
    take("a", 75)
    with pytest.raises(LedgerBusy) as refused:
        take("b", 30)
    assert refused.value.headers == {"Retry-After": "1"}
    take("b", 20)


def test_the_pause_is_as_long_as_the_queue(take):
    take("a", 78)
    with pytest.raises(LedgerBusy) as refused:
        take("b", 78)
    assert refused.value.headers == {"Retry-After": "2"}


def test_a_request_of_more_turns_than_there_are_takes_the_first(take):
    take("a", 1000)
    with pytest.raises(LedgerBusy):
        take("b", 30)


def test_turns_that_are_not_used_are_given_back(tmp_path):
    limit = MirrorRateLimit(tmp_path, RATE)
    for _ in range(10):
        with limit.taken("a", 50, 4) as turns:
            limit.acquire(turns)
    started = time.monotonic()
    limit.acquire(Deadline(4))
    assert time.monotonic() - started < 0.5  # fifteen seconds if none was given back


def test_turns_are_evenly_spaced_and_none_is_lost(tmp_path):
    limit = MirrorRateLimit(tmp_path, RATE)
    with limit.taken("a", 4, 4) as turns:
        started = time.monotonic()
        waits = [limit.acquire(turns) for _ in range(3)]
        assert time.monotonic() - started == pytest.approx(2 / RATE, abs=0.04)
        assert waits[0] < 1 / RATE
        time.sleep(0.1)
        assert limit.acquire(turns) == 0


def test_a_question_beyond_them_takes_a_turn_of_the_same_caller(tmp_path):
    limit = MirrorRateLimit(tmp_path, RATE)
    with limit.taken("a", 1, 4) as turns, limit.taken("a", 57, 4):
        limit.acquire(turns)
        with limit.taken("b", 25, 4), pytest.raises(LedgerBusy):
            limit.acquire(turns)


def test_whoever_works_for_no_client_has_turns_beyond_them(take, tmp_path):
    take("a", 80)
    take("b", 15)
    assert MirrorRateLimit(tmp_path, RATE).acquire(Deadline(4)) == pytest.approx(95 / RATE, abs=0.5)


@pytest.fixture
def connect(tmp_path):
    with ExitStack() as opened:

        def connect(answer):
            url = opened.enter_context(serve_raw(answer))
            limit = MirrorRateLimit(tmp_path, 1000)
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
