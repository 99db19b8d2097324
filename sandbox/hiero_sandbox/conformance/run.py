"""Runs cases, several at once, and reports what became of them."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from xml.etree import ElementTree

from hiero_sandbox.conformance.case import Case, Failed
from hiero_sandbox.conformance.network import Network, NetworkFault, Unsupported

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Result(NamedTuple):
    case: Case
    outcome: str
    seconds: float
    reason: str  # of a failure, or of what was skipped


def run(cases: Iterable[Case], network: Network, at_once: int) -> Iterator[Result]:
    """The results of cases, in the order of the cases."""
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda case: check(case, network), cases)


def check(case: Case, network: Network) -> Result:
    """A case that the network gives no answer to has failed, too."""
    began = time.monotonic()
    outcome, reason = PASSED, ""
    try:
        case.check(network)
    except Unsupported as missing:
        outcome, reason = SKIPPED, str(missing)
    except (Failed, NetworkFault) as failure:
        outcome, reason = FAILED, str(failure)
    except Exception as error:  # such as a KeyError: a field that an answer lacks
        outcome, reason = FAILED, f"{type(error).__name__}: {error}"
    return Result(case, outcome, time.monotonic() - began, reason)


def line(result: Result) -> str:
    """A line of the table; of a failure, what was expected, and where it is said."""
    case = result.case
    shown = f"{result.outcome:8}{case.heading}"
    if result.outcome == FAILED:
        shown += f"\n        {result.reason}\n        {case.rule} ({case.source})"
    return f"{shown}: {result.reason}" if result.outcome == SKIPPED else shown


def summary(results: Sequence[Result]) -> str:
    counts = Counter(result.outcome for result in results)
    return ", ".join(f"{counts[each]} {each}" for each in (PASSED, FAILED, SKIPPED))


def junit(results: Sequence[Result]) -> ElementTree.ElementTree:
    """A report in JUnit's format."""
    suite = ElementTree.Element("testsuite", name="conformance", tests=str(len(results)))
    for result in results:
        given = {"classname": result.case.subject, "name": result.case.name}
        given["time"] = f"{result.seconds:.3f}"
        shown = ElementTree.SubElement(suite, "testcase", given)
        if result.outcome != PASSED:
            tag = "failure" if result.outcome == FAILED else "skipped"
            about = ElementTree.SubElement(shown, tag, message=result.reason)
            about.text = f"{result.case.rule} ({result.case.source})"
    return ElementTree.ElementTree(suite)
