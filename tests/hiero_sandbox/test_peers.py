"""stress.peers counts each case of a report once."""

import subprocess
import sys

import pytest

from harness.serving import ROOT
from stress import peers

MOCHA = """<testsuite name="Mocha Tests" tests="3" failures="1">
<testcase classname="Transfer" name="works"/>
<testcase classname="Transfer" name="fails"><failure/></testcase>
<testcase classname="Transfer" name="waits"><skipped/></testcase></testsuite>"""
PYTEST = """<testsuites><testsuite>
<testcase classname="a" name="fails"><failure/></testcase>
<testcase classname="a" name="fails"><error/></testcase>
<testcase classname="a" name="works"/></testsuite></testsuites>"""


def test_it_counts_the_cases_of_all_reports(tmp_path):
    (tmp_path / "mocha.xml").write_text(MOCHA)
    (tmp_path / "pytest.xml").write_text(PYTEST)
    counts, failed = peers.count(tmp_path)
    assert [counts[column] for column in peers.COLUMNS] == [5, 2, 1, 2]
    assert failed == ["mocha: Transfer fails", "pytest: a fails"]


def test_it_leaves_out_what_is_not_claimed(tmp_path):
    for name in ("TokenCreate.js", "FileCreate.js", "ContractCall.js", "FreezeTransaction.js"):
        (tmp_path / name).touch()
    (tmp_path / "contract").mkdir()
    (tmp_path / "contract/create.js").touch()
    assert peers.list_claimed(tmp_path, "*.js", "*/*.js") == ["TokenCreate.js"]


def test_a_folder_without_suites_is_an_empty_table(tmp_path):
    environ = {peers.OWN_NAMESPACE: "1"}
    command = [sys.executable, "-m", "stress.peers", tmp_path, "--reports", tmp_path]
    ended = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    heading, reports = ended.stdout.splitlines()
    assert heading.split() == ["suite", *peers.COLUMNS, "seconds"]
    assert reports.endswith(str(tmp_path))


@pytest.mark.parametrize(
    ("language", "program", "expected"),
    [
        ("js", 'import { Client } from "@hiero-ledger/sdk";\nClient.forLocalNode();', True),
        ("js", 'import { Client } from "@hiero-ledger/sdk";', False),
        ("js", 'const { Client } = require("@hiero-ledger/sdk");\nnew Client();', True),
        (
            "js",
            'import "@hiero-ledger/sdk";\nimport x from "langchain";\nClient.forLocalNode();',
            False,
        ),
        ("python", "import os\nfrom hiero_sdk_python import Client\nClient(os)", True),
        ("python", "import os\nprint(Client())", False),
    ],
)
def test_it_takes_blocks_that_are_whole_programs(language, program, expected):
    assert peers.is_whole(program, language) is expected
