"""What a case is: a rule of the network, its source, and a function that checks it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from hiero_sandbox.conformance.network import Network


class Failed(Exception):
    """The network does not keep the rule."""


class Case(NamedTuple):
    subject: str  # the module that it is in
    name: str
    rule: str
    source: str
    check: Callable[[Network], None]  # raises Failed, NetworkFault, Unsupported

    @property
    def heading(self) -> str:
        return f"{self.subject:12}{self.name}"


CASES: list[Case] = []


def list_cases() -> list[Case]:
    """All cases, by subject."""
    import_module("hiero_sandbox.conformance.cases")  # they register themselves
    return sorted(CASES, key=lambda case: case.subject)


def case(source: str) -> Callable[[Callable[[Network], None]], Callable[[Network], None]]:
    """Register a function as a case. Its docstring is the rule."""

    def register(check: Callable[[Network], None]) -> Callable[[Network], None]:
        _add(check, source, check)
        return check

    return register


def refused(
    code: str, source: str, *, by_node: bool = False
) -> Callable[[Callable[[Network], Any]], Callable[[Network], Any]]:
    """Register a function that returns what must be refused: a body, or a tuple of it and those who sign.

    The code is that of the answer or of the receipt; ``by_node``, of the answer.
    """

    def register(attempt: Callable[[Network], Any]) -> Callable[[Network], Any]:
        def check(network: Network) -> None:
            made = attempt(network)
            body, *signers = made if isinstance(made, tuple) else (made,)
            outcome = network.submit(body, *signers)
            equal(outcome.code, code)
            if by_node:
                equal(outcome.reached_consensus, False)

        _add(attempt, source, check)
        return attempt

    return register


def _add(written: Callable[..., Any], source: str, check: Callable[[Network], None]) -> None:
    name = written.__name__.replace("_", " ")
    subject = written.__module__.rpartition(".")[2]
    rule = " ".join((written.__doc__ or "").split())
    CASES.append(Case(subject, name, rule, source, check))


def equal(actual: object, expected: object) -> None:
    if actual != expected:
        raise Failed(f"{actual!r} for {expected!r}")


def holds(condition: object, otherwise: str) -> None:
    if not condition:
        raise Failed(otherwise)
