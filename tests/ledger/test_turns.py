"""Turns are fair, whoever asks the most."""

import threading

import pytest

from marketplace.ledger import turns as turns_module
from marketplace.ledger.turns import Turns

pytestmark = pytest.mark.once("no statement is asked")


class Queue:
    """Threads that wait for a turn, each of which is let in, and stays until it is let out."""

    def __init__(self):
        self.turns = Turns()
        self.order = []
        self._threads = []
        self._leave = threading.Semaphore(0)

    def join(self, key):
        already = len(self.turns._waiting)
        thread = threading.Thread(target=self._go, args=(key,))
        self._threads.append(thread)
        thread.start()
        while len(self.turns._waiting) == already and not self.order[len(self._threads) - 1 :]:
            pass  # it waits, or it has its turn

    def _go(self, key):
        with self.turns.turn(key, 60) as is_ours:
            assert is_ours
            self.order.append(key)
            assert self._leave.acquire(timeout=60)

    def end(self):
        for _ in self._threads:
            self._leave.release()
        for thread in self._threads:
            thread.join(60)
        return self.order


def test_who_asks_for_much_keeps_nobody_waiting():
    queue = Queue()
    for key in ("hog", "hog", "hog", "hog", "hog", "modest"):
        queue.join(key)
    assert queue.end() == ["hog", "modest", "hog", "hog", "hog", "hog"]


def test_among_equals_the_first_goes_first():
    queue = Queue()
    for key in "abcd":
        queue.join(key)
    assert queue.end() == list("abcd")


def test_one_that_gives_up_is_out_of_the_way():
    queue = Queue()
    queue.join("a")
    with queue.turns.turn("b", 0.01) as is_ours:
        assert not is_ours
    queue.join("c")
    assert queue.end() == ["a", "c"]


def test_a_turn_that_fails_is_passed_on():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.turn("a", 0):
        raise ZeroDivisionError
    with turns.turn("b", 0) as is_ours:
        assert is_ours


def test_what_was_taken_long_ago_is_forgotten(monkeypatch):
    turns = Turns()
    turns._taken["a"] = (64.0, turns_module.time.monotonic() - 6 * turns_module.HALF_LIFE_SECONDS)
    assert turns._count("a") == pytest.approx(1, rel=0.01)
    monkeypatch.setattr(turns_module, "MAX_KEYS", 10)
    for n in range(100):
        with turns.turn(str(n), 0):
            pass
    assert list(turns._taken) == [str(n) for n in range(90, 100)]
