"""The sandbox keeps all rules of its conformance suite."""

from hiero_sandbox import testing
from hiero_sandbox.conformance import run
from hiero_sandbox.conformance.__main__ import of_sandbox
from hiero_sandbox.conformance.case import list_cases


def test_each_case_has_a_name_a_rule_and_a_source():
    cases = list_cases()
    assert len({case.heading for case in cases}) == len(cases) > 100
    assert [case.heading for case in cases if not (case.rule.endswith(".") and case.source)] == []


def test_the_sandbox_keeps_all_rules():
    with testing.serving() as sandbox, of_sandbox(sandbox) as network:
        results = [*run.run(list_cases(), network, at_once=8)]
    assert [run.line(each) for each in results if each.outcome != run.PASSED] == []
