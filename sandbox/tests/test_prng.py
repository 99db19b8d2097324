"""Pseudorandom numbers, in the record of their transaction."""

import pytest

from sandbox.tests import bodies, hapi
from sandbox.tests.people import ALICE


@pytest.fixture
def draw(submit, ask):
    """The record of a number that was drawn."""
    count = iter(range(3, 99))

    def draw(**fields):
        body = bodies.make(ALICE, "util_prng", **fields)
        assert submit(body, ALICE).result == "SUCCESS"
        paid = hapi.payment(ALICE, seconds_ago=next(count))
        answered, _ = ask("transactionGetRecord", transactionID=body.transactionID, payment=paid)
        return answered.transactionRecord

    return draw


def test_a_number_is_below_its_range(draw):
    drawn = [draw(range=10).prng_number for _ in range(12)]
    assert {*drawn} <= {*range(10)}
    assert len({*drawn}) > 1


def test_without_a_range_there_are_384_bits(draw):
    first, second = draw().prng_bytes, draw().prng_bytes
    assert len(first) == len(second) == 48
    assert first != second


def test_a_range_is_not_negative(submit):
    body = bodies.make(ALICE, "util_prng", range=-1)
    assert submit(body, ALICE).result == "INVALID_PRNG_RANGE"
