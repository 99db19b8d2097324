"""The conformance suite tests a network by its addresses, and says where it differs."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import pytest

from hiero_sandbox import testing
from hiero_sandbox.conformance import run
from hiero_sandbox.conformance.__main__ import of_sandbox
from hiero_sandbox.conformance.case import list_cases

KEY = "302e020100300506032b657004220420" + "5" * 64


def conformance(*arguments, **variables):
    """Run the command with these environment variables alone; returns its exit code and what it prints."""
    command = [sys.executable, "-m", "hiero_sandbox.conformance", *arguments]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": 60}
    ended = subprocess.run(command, env=variables, **options)
    return ended.returncode, ended.stdout


def key_of(sandbox, account_id, form="privateKey"):
    [found] = [each[form] for each in sandbox.accounts() if each["accountId"] == account_id]
    return found


def test_each_case_makes_what_it_needs():
    """None passes only after another one: each has a network of its own."""

    def check_alone(case):
        with of_sandbox(sandbox) as network:
            return run.check(case, network)

    with testing.serving() as sandbox, ThreadPoolExecutor(4) as pool:
        results = [*pool.map(check_alone, list_cases())]
    assert [run.line(each) for each in results if each.outcome != run.PASSED] == []


@pytest.fixture
def served():
    with testing.serving() as sandbox:
        yield sandbox


@pytest.fixture
def addresses(served):
    return "--network", served.node, "--mirror", served.url


def test_a_network_is_tested_by_its_addresses(served, addresses, tmp_path):
    report = tmp_path / "report.xml"
    for key in (key_of(served, "0.0.1002"), key_of(served, "0.0.1002", "privateKeyDer")):
        settings = tmp_path / "operator.env"
        settings.write_text(f"export OPERATOR_ID=0.0.1002\nOPERATOR_KEY='{key}'\n")
        options = ("--operator", settings, "--junit", report, "files")
        code, printed = conformance(*addresses, *options)
        assert (code, printed.count("\npassed")) == (0, printed.count("passed  files") - 1), printed
    cases = [*ElementTree.parse(report).iter("testcase")]
    assert {case.get("classname") for case in cases} == {"files"}
    variables = {"OPERATOR_ID": "0.0.1002", "OPERATOR_KEY": key}
    code, printed = conformance(*addresses, "immutable file", **variables)
    assert (code, printed.splitlines()[-1][:8]) == (0, "2 passed"), printed


def test_a_difference_fails_with_the_rule_and_its_source(served, addresses):
    served.move_clock(10 * 86_400)
    variables = {"OPERATOR_ID": "0.0.1002", "OPERATOR_KEY": key_of(served, "0.0.1002")}
    code, printed = conformance(*addresses, "schedule that waits for its time", **variables)
    refusal = "scheduleCreate is SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME"
    assert code == 1
    assert f"failed  schedules   a schedule that waits for its time\n        {refusal}" in printed
    assert "is not executed before it expires. (AbstractScheduleHandler" in printed
    assert "0 passed, 1 failed, 0 skipped" in printed


def test_what_a_network_does_not_have_is_skipped(served, addresses):
    served.fail("NOT_SUPPORTED", 1)
    variables = {"OPERATOR_ID": "0.0.2", "OPERATOR_KEY": key_of(served, "0.0.2")}
    code, printed = conformance(*addresses, "empty message", **variables)
    assert code == 0
    skipped = "skipped topics      an empty message: consensusCreateTopic is NOT_SUPPORTED"
    assert printed.splitlines()[0] == skipped


@pytest.mark.parametrize(
    ("options", "variables", "message"),
    [
        (("--network", "127.0.0.1:1"), {}, "--network needs --mirror"),
        (
            ("--network", "x:1", "--mirror", "http://x"),
            {},
            "OPERATOR_ID and OPERATOR_KEY are missing",
        ),
        (
            ("--network", "x:1", "--mirror", "http://127.0.0.1:9"),
            {"OPERATOR_ID": "0.0.2", "OPERATOR_KEY": KEY},
            "The mirror node does not answer",
        ),
    ],
)
def test_what_is_missing_is_named(options, variables, message):
    code, printed = conformance(*options, **variables)
    assert code != 0 and message in printed


def test_another_accounts_key_is_refused(addresses):
    code, printed = conformance(*addresses, OPERATOR_ID="0.0.1002", OPERATOR_KEY=KEY)
    assert code == 1
    assert "The key is not that of 0.0.1002" in printed and "5" * 64 not in printed


def test_a_list_needs_no_network():
    code, printed = conformance("--list", "schedules")
    assert code == 0
    assert "a deletion\n        The admin key deletes a schedule" in printed
