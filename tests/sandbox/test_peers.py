"""stress.peers counts each case of a report once."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from harness.serving import ROOT
from stress import peers
from stress.rest import replay

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


def test_it_keeps_the_counts_of_each_suite(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "RESULTS", tmp_path / "peers.json")
    counts = Counter(tried=3, passed=2, failed=1)
    for name in ("tck", "python", "tck"):
        peers.keep(name, "v1.0", counts)
    kept = json.loads(peers.RESULTS.read_text())
    assert [*kept] == ["python", "tck"]
    figures = dict.fromkeys(peers.COLUMNS, 0) | counts
    assert kept["tck"].items() >= (figures | {"version": "v1.0"}).items()
    assert kept["tck"]["repository"] == "hiero-ledger/hiero-sdk-tck"


def test_it_leaves_out_what_is_not_claimed(tmp_path):
    claimed = ["FeeEstimate.js", "TokenFreezeTransaction.js", "nodeless_e2e.js"]
    for name in (*claimed, "NodeCreate.js", "ContractCall.js", "FreezeTransaction.js"):
        (tmp_path / name).touch()
    (tmp_path / "contract").mkdir()
    (tmp_path / "contract/create.js").touch()
    assert peers.list_claimed(tmp_path, "*.js", "*/*.js") == claimed


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


# The mirror node's REST specs


SETUP = {
    "accounts": [{"num": 1001, "balance": 50}, {"num": 1002, "memo": "second"}],
    "balances": [{"timestamp": 1000000000, "id": 1001, "balance": 40}],
    "tokens": [{"token_id": "0.0.1500", "symbol": "CAT", "type": "NON_FUNGIBLE_UNIQUE"}],
    "nfts": [{"account_id": "0.0.1001", "token_id": "0.0.1500", "serial_number": 3}],
    "topicmessages": [{"topic_id": 7, "sequence_number": 1, "consensus_timestamp": "5"}],
    "cryptoAllowances": [{"owner": 1001, "spender": 1002, "amount": 5, "amount_granted": 7}],
    "transactions": [
        {
            "consensus_timestamp": "1234567890000000002",
            "payerAccountId": "0.0.1001",
            "type": 14,
            "transfers": [
                {"account": "0.0.1001", "amount": -5},
                {"account": "0.0.1002", "amount": 5},
            ],
        }
    ],
}
NOT_FOUND = {"_status": {"messages": [{"message": "Not found"}]}}


@pytest.fixture
def judge(tmp_path):
    """Replay one request of a spec; returns what was compared, and what differs."""

    def judge(url, body, status=200, setup=SETUP):
        spec = {"setup": setup, "url": url, "responseStatus": status, "responseJson": body}
        (tmp_path / "spec.json").write_text(json.dumps(spec))
        [case] = replay.list_cases(tmp_path)
        return replay.judge(case)

    return judge


def test_a_spec_is_replayed_on_its_data(judge):
    path = "/api/v1/balances?account.id=1001"
    for asked, amount in ((path, 50), (f"{path}&timestamp=1.5", 40)):
        row = {"account": "0.0.1001", "balance": amount, "tokens": []}
        body = {"timestamp": "1.000000000", "balances": [row], "links": {"next": None}}
        assert judge(asked, body) == ("body", "")
    how, difference = judge(path, body)
    assert (how, difference) == ("body", ".balances.balance: 50 for 40")


@pytest.mark.parametrize(
    ("path", "name", "column", "value"),
    [
        ("tokens/1500/nfts", "nfts", "account_id", "0.0.1001"),
        ("tokens", "tokens", "symbol", "CAT"),
        ("accounts/1001/allowances/crypto", "allowances", "amount_granted", 7),
        ("transactions?timestamp=lt:1234567891", "transactions", "name", "CRYPTOTRANSFER"),
        ("accounts?account.id=1002", "accounts", "memo", "second"),
        ("topics/7/messages", "messages", "message", "bWVzc2FnZQ=="),
    ],
)
def test_each_table_of_a_spec_is_written(judge, path, name, column, value):
    how, difference = judge(f"/api/v1/{path}", {name: [{column: value}], "links": {"next": None}})
    assert (how, difference.startswith(f".{name}.{column}")) == ("body", False)
    _, difference = judge(f"/api/v1/{path}", {name: [{column: "other"}], "links": {"next": None}})
    assert difference.startswith(f".{name}.{column}")


@pytest.mark.parametrize("entity", [None, "0.0.1500"])
def test_a_transaction_may_name_no_entity(judge, entity):
    [transaction] = SETUP["transactions"]
    about = transaction | {"type": 36, "entity_id": entity}  # TOKENUPDATE
    path, setup = "/api/v1/transactions?timestamp=lt:1234567891", {"transactions": [about]}
    body = {"transactions": [{"entity_id": entity, "name": "TOKENUPDATE"}]}
    _, difference = judge(path, body | {"links": {"next": None}}, setup=setup)
    assert not difference.startswith((".transactions.entity_id", ".transactions.name"))


def test_errors_are_compared_whatever_data_a_spec_has(judge):
    unknown = {"recordFiles": [{"index": 1}]}
    assert judge("/api/v1/accounts/7", NOT_FOUND, 404, unknown) == ("status", "")
    assert judge("/api/v1/accounts/7", {}, 404, unknown)[1]
    assert judge("/api/v1/accounts/7", {}, 400, unknown)[1].startswith("status 404 for 400")
    assert judge("/api/v1/accounts/7", {}, 200, unknown) == (replay.NOT_LOADED, "")


def test_the_report_says_what_was_compared(tmp_path):
    specs = tmp_path / "specs"
    specs.mkdir()
    spec = {"url": "/api/v1/accounts/7", "responseStatus": 404, "responseJson": NOT_FOUND}
    (specs / "right.json").write_text(json.dumps(spec))
    (specs / "wrong.json").write_text(json.dumps(spec | {"responseStatus": 400}))
    replay.replay(specs, tmp_path)
    counts, failed = peers.count(tmp_path)
    assert [counts[column] for column in peers.COLUMNS] == [2, 1, 0, 1]
    assert failed == ["rest: body wrong.json /api/v1/accounts/7"]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("process.env.OPERATOR_ID", True),
        ("process.env.TOPIC_ID", False),
        ("const { OPERATOR_ID, OPERATOR_KEY } = process.env", True),
        ("const { OPERATOR_ADDRESS } = process.env", False),
        ('import { run } from "./run.js"', True),
        ("new ContractCreateFlow()", False),
    ],
)
def test_it_takes_programs_of_repositories_that_need_nothing_else(tmp_path, program, expected):
    folder = tmp_path / "dev/tokens"
    folder.mkdir(parents=True)
    whole = f'import {{ Client }} from "@hashgraph/sdk";\nClient.forTestnet();\n{program};\n'
    (folder / "mint.js").write_text(whole)
    (folder / "package.json").write_text("{}")
    (folder / ".env.sample").touch()
    found = [*peers.copy_programs(tmp_path / "dev", tmp_path / "reports")]
    assert found == (["dev/tokens/mint.js"] if expected else [])
    assert "forLocalNode" in (tmp_path / "reports/dev/tokens/mint.js").read_text()
    assert (tmp_path / "reports/dev/tokens/.env").exists()


def test_it_gives_the_kind_of_key_that_a_program_reads():
    operator = peers.operator_of("PrivateKey.fromStringECDSA(process.env.OPERATOR_KEY)", False)
    assert operator["OPERATOR_ID"] == peers.ECDSA.account_id
    assert operator["OPERATOR_KEY"].startswith(peers.ECDSA_PREFIX)
    other = peers.operator_of("PrivateKey.fromStringDer(process.env.OPERATOR_KEY)", False)
    assert (other["OPERATOR_ID"], other["OPERATOR_KEY"]) == (peers.OPERATOR, peers.KEY)


def test_it_runs_programs_and_keeps_what_they_print(tmp_path):
    for name, program in (("good", "print('hello')"), ("bad", "raise SystemExit(3)")):
        (tmp_path / f"{name}.py").write_text(program)
    programs = [
        peers.Program(name, sys.executable, f"{name}.py", tmp_path, {}) for name in ("good", "bad")
    ]
    peers.run_each(tmp_path, programs)
    counts, failed = peers.count(tmp_path)
    assert (counts["passed"], failed) == (1, ["programs:  bad"])
    assert (tmp_path / "good.txt").read_text() == "hello\n"
