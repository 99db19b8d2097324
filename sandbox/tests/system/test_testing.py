"""What dApps test with: the functions in Python and JavaScript, and the fixture, each in its example."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from hiero_sandbox import control, testing
from sandbox.tests.command import ROOT, run

EXAMPLES = ROOT / "examples/dapp"
JAVASCRIPT = ROOT / "tests/system/wallets/node_modules"


@pytest.fixture(scope="module")
def sandbox():
    with testing.serving() as sandbox:
        yield sandbox


def test_pytest_finds_the_fixture_in_the_wheel():
    project = tomllib.loads((ROOT / "sandbox/pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"hiero_sandbox": "hiero_sandbox.pytest_plugin"}


def test_the_python_example_passes():
    options = ("-q", "-p", "no:cacheprovider", "--confcutdir", "examples/dapp")
    output = run(sys.executable, "-m", "pytest", *options, "examples/dapp")
    assert output.startswith(". "), output


@pytest.mark.skipif(
    not shutil.which("node") or not JAVASCRIPT.exists(),
    reason="needs the JavaScript SDK (make tools, with npm)",
)
def test_the_javascript_example_passes(tmp_path, sandbox):
    shutil.copy(EXAMPLES / "shop.test.mjs", tmp_path)
    with urlopen(f"{sandbox.url}/testing.mjs") as answer:
        (tmp_path / "testing.mjs").write_bytes(answer.read())
    (tmp_path / "node_modules").symlink_to(JAVASCRIPT)
    environ = os.environ | {"SANDBOX": sandbox.url, "NODE": sandbox.node}
    command = ["node", "--test", "shop.test.mjs"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stdout
    assert re.search(r"pass 1\b", ended.stdout), ended.stdout


def test_the_readmes_program_runs(sandbox):
    document = (ROOT / "sandbox/README.md").read_text()
    program = next(
        block
        for block in re.findall("```python\n(.*?)```", document, re.DOTALL)
        if "Client" in block
    )
    sandbox.reset()
    assert run(sys.executable, "-c", program.replace("127.0.0.1:50211", sandbox.node)) == "22\n"
    assert balance(sandbox, "0.0.1002") == 1_000_500_000_000


def test_both_languages_have_the_same_functions():
    """And each of control.py's addresses has one."""
    names = {name for name in vars(testing.Sandbox) if not name.startswith("_")} - {"node"}
    module = control.MODULE.read_text()
    assert {to_python(name) for name in re.findall(r"^  (\w+) = ", module, re.MULTILINE)} == names


def to_python(name):
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def test_each_function_calls_its_address(sandbox):
    sandbox.reset()
    account_id = sandbox.accounts()[1]["accountId"]
    snapshot = sandbox.snapshot()
    sandbox.give(account_id, 7)
    sandbox.fail("MIRROR_503")
    with pytest.raises(HTTPError, match="503"):
        urlopen(f"{sandbox.mirror}/accounts/{account_id}")
    assert balance(sandbox, account_id) == 1_000_000_000_007
    sandbox.restore(snapshot)
    sandbox.set_lag(2)
    sandbox.give(account_id, 9)
    assert balance(sandbox, account_id) == 1_000_000_000_000
    sandbox.move_clock(2)
    assert balance(sandbox, account_id) == 1_000_000_000_009


def balance(sandbox, account_id):
    with urlopen(f"{sandbox.mirror}/accounts/{account_id}") as answer:
        return int(re.search(rb'"balance":{"balance":(\d+)', answer.read())[1])


def test_a_wrong_argument_is_an_error(sandbox):
    with pytest.raises(HTTPError, match="422"):
        sandbox.fail("EARTHQUAKE")


def test_a_sandbox_that_does_not_start_is_an_error():
    with (
        pytest.raises(RuntimeError, match="has not started"),
        testing.serving("--data", "/dev/null/x"),
    ):
        pass
