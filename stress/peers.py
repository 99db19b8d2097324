"""Runs the tests of Hedera's SDKs and mirror node, as they are, against hiero-sandbox, and counts.

    python -m stress.peers FOLDER [SUITE ...] [--reports FOLDER] [--write]

FOLDER has what docs/peers.md says how to check out: each suite that is there is run, beside a sandbox of its
own, in a network namespace, where the standard ports are free: so as root, or with user namespaces.
--write keeps the counts in peers.json, from which make docs writes the README's table.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple
from xml.etree import ElementTree

from hiero_sandbox import testing
from hiero_sandbox.ledger.genesis import OPERATOR as GENESIS
from hiero_sandbox.ledger.genesis import OPERATORS_KEY as GENESIS_KEY
from hiero_sandbox.ledger.genesis import known_accounts
from marketplace.hedera.hbar import TINYBARS
from stress.rest.replay import replay

# As the JavaScript SDK writes private keys.
ED25519_PREFIX = "302e020100300506032b657004220420"
ECDSA_PREFIX = "3030020100300706052b8104000a04220420"
# The operators have as much as the suites ask for, and no privileges. One has a key of each kind.
ED25519 = known_accounts()[-1]
ECDSA = next(known for known in known_accounts() if known.has_alias)
OPERATOR, KEY = ED25519.account_id, ED25519_PREFIX + ED25519.private_key.to_string_raw()
OPERATORS_HBAR = 100_000_000
READS_ECDSA = re.compile(r"fromStringECDSA\(|from_string_ecdsa\(")
RESULTS = Path(__file__).with_suffix(".json")
COLUMNS = ("tried", "passed", "skipped", "failed")
OWN_NAMESPACE = "PEERS_NAMESPACE"
SUITE_SECONDS, FILE_SECONDS, EXAMPLE_SECONDS = 3600, 400, 150
EXAMPLES_AT_ONCE = 4
RPC_PORT = 8544
SPECS = "mirror/rest/__tests__/specs"
# Parts of Hedera that the sandbox does not claim: contracts, nodes; and what needs testnet, the
# internet or a browser. Whole words of a folder's or a file's name; with a slash, its first ones.
LEFT_OUT = (
    *(
        "contract",
        "ethereum",
        "node",
        "/freeze_transaction",
        "hook",
        "tls",
        "registered",
        "run_all",
    ),
    *("testnet", "time_drift", "umd", "react_native"),
    "/contents",  # holds no tests
)
LEFT_OUT_NAMES = re.compile(
    "|".join(part if part[0] == "/" else f"[/_]{part}" for part in LEFT_OUT).join(("(", ")"))
    + "s?(?![a-z0-9])"
)
VITEST = """
export default {
  test: {
    watch: false, globals: true, environment: "node", pool: "forks", hookTimeout: 60000, testTimeout: 60000,
    include: ["test/integration/*.js"],
    poolOptions: { forks: { maxForks: 2, minForks: 1 } },
  },
  define: { __SDK_VERSION__: JSON.stringify("0.0.0") },
};
"""
# The documentation's pages: their blocks, what these import, and what stands for testnet.
BLOCK = re.compile(r"^ *```(javascript|js|python)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
ENV = re.compile(r"(?:process\.env\.|os\.environ\[\"|getenv\(\")(\w+)|\{([^}]*)\} = process\.env")
JAVASCRIPT_IMPORT = re.compile(r"""(?:from|require\(|import)\s*["']([^"']+)["']""")
PYTHON_IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
PACKAGES = ("@hiero-ledger/sdk", "hiero_sdk_python", "dotenv", "dotenv/config", "axios", "requests")
NODE_MODULES = ("fs", "path", "crypto", "readline", "url", "util", "node:fs", "node:crypto")
UNCLAIMED = ("ContractCreate", "ContractFunction", "EthereumTransaction")
LANGUAGES = {".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".py": "python"}
# What programs call the operator.
OPERATOR_IDS = ("OPERATOR_ID", "OPERATOR_ACCOUNT_ID", "ACCOUNT_ID", "MY_ACCOUNT_ID")
OPERATOR_KEYS = (
    *("OPERATOR_KEY", "OPERATOR_ACCOUNT_PRIVATE_KEY", "ACCOUNT_PRIVATE_KEY", "MY_PRIVATE_KEY"),
    "OPERATOR_KEY_HEX",
)
VARIABLES = {*OPERATOR_IDS, *OPERATOR_KEYS, "HEDERA_NETWORK", "NETWORK"}
LOCAL = {
    "@hashgraph/sdk": "@hiero-ledger/sdk",
    "forTestnet": "forLocalNode",
    "forPreviewnet": "forLocalNode",
    '"testnet"': '"solo"',
    "= Client()": "= Client.from_env()",
    "https://testnet.mirrornode.hedera.com": "http://127.0.0.1:5551",
}


class Suite(NamedTuple):
    repository: str  # whose tests these are
    needs: str  # a path in the folder
    # Runs it; writes reports in JUnit's format into the second folder
    run: Callable[[Path, Path], None]


def list_claimed(folder: Path, *patterns: str) -> list[str]:
    """The files of a suite, but those about what the sandbox does not claim."""
    found = sorted(path for pattern in patterns for path in folder.glob(pattern))
    names = [str(path.relative_to(folder)) for path in found]
    return [name for name in names if not LEFT_OUT_NAMES.search(to_words(name))]


def to_words(name: str) -> str:
    """account/FreezeTransaction and account/freeze-transaction as /account/freeze_transaction."""
    path = Path(name)
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in path.stem)
    words = f"/{path.parent.name}/{words.removeprefix('_')}"
    return words.replace("-", "_").lower()


def run(
    *command: object,
    cwd: Path,
    seconds: float = SUITE_SECONDS,
    output: IO[str] | int = subprocess.DEVNULL,
    **variables: str,
) -> int:
    environ = os.environ | {"OPERATOR_ID": OPERATOR, "OPERATOR_KEY": KEY} | variables
    try:
        ended = subprocess.run(
            [*map(str, command)],
            cwd=cwd,
            env=environ,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    except subprocess.TimeoutExpired:
        return -1
    return ended.returncode


def run_python(folder: Path, reports: Path) -> None:
    sdk, python = folder / "py", folder / "pyenv/bin/python"
    options = ("-q", "-p", "no:cacheprovider", f"--junitxml={reports}/python.xml")
    files = list_claimed(sdk, "tests/integration/*_test.py")
    run(python, "-m", "pytest", *options, *files, cwd=sdk, NETWORK="solo")


def run_javascript(folder: Path, reports: Path) -> None:
    sdk, config = folder / "js", reports / "vitest.config.mjs"
    config.write_text(VITEST)
    files = list_claimed(sdk, "test/integration/*.js")
    report = to_report(reports, "javascript")
    genesis = {
        "GENESIS_OPERATOR_ID": GENESIS,
        "GENESIS_OPERATOR_KEY": ED25519_PREFIX + GENESIS_KEY,
    }
    command = ("node_modules/.bin/vitest", "run", "--root", sdk, "--config", config, *report)
    run(*command, *files, cwd=sdk, HEDERA_NETWORK="local-node", **genesis)


def run_tck(folder: Path, reports: Path) -> None:
    tck = folder / "tck"
    variables = {
        "OPERATOR_ACCOUNT_ID": OPERATOR,
        "OPERATOR_ACCOUNT_PRIVATE_KEY": KEY,
        "NODE_IP": "127.0.0.1:50211",
        "NODE_ACCOUNT_ID": "0.0.3",
        "MIRROR_NETWORK": "127.0.0.1:5600",
        "MIRROR_NODE_REST_URL": "http://127.0.0.1:5551",
        "MIRROR_NODE_REST_JAVA_URL": "http://127.0.0.1:8084",
        "JSON_RPC_SERVER_URL": f"http://127.0.0.1:{RPC_PORT}",
        "TS_NODE_TRANSPILE_ONLY": "1",
    }
    requires = ("ts-node/register", "tsconfig-paths/register", "src/preflight.ts")
    mocha = ["node_modules/.bin/mocha", "--timeout", "20000", "--exit", "--reporter", "xunit"]
    mocha += [word for each in requires for word in ("--require", each)]
    with rpc_server(folder / "js/tck"):
        for file in list_claimed(tck, *(f"src/tests/{each}-service/*.ts" for each in SERVICES)):
            report = f"output={reports}/{Path(file).stem}.xml"
            options = ("--reporter-option", report)
            run(*mocha, *options, file, cwd=tck, seconds=FILE_SECONDS, **variables)


SERVICES = ("crypto", "token", "schedule", "topic")


def run_agent_kit(folder: Path, reports: Path) -> None:
    """Run all integration tests of its core, also those of contracts: as for Solo, whose ports it knows."""
    variables = {
        "HEDERA_NETWORK": "local-node",
        "HEDERA_ACCOUNT_ID": ECDSA.account_id,
        "HEDERA_PRIVATE_KEY": ECDSA.private_key.to_string_raw(),
    }
    options = ("--config", "vitest.integration.config.ts", *to_report(reports, "agent-kit"))
    core = folder / "kit/packages/core"
    run("node_modules/.bin/vitest", "run", *options, "tests/integration", cwd=core, **variables)


def run_did(folder: Path, reports: Path) -> None:
    did = folder / "did"
    variables = {
        "HEDERA_NETWORK": "local-node",
        "HEDERA_OPERATOR_ID": OPERATOR,
        "HEDERA_OPERATOR_KEY": KEY,
    }
    files = sorted(did.glob("packages/*/tests/**/*.e2e.ts"))
    options = to_report(reports, "did")
    run("node_modules/.bin/vitest", "run", *options, *files, cwd=did, **variables)


def run_walletconnect(folder: Path, reports: Path) -> None:
    """Run the tests of WalletConnect's sign-client, in one process, with the sandbox's relay."""
    client = folder / "wc/packages/sign-client"
    (client / "test/tmp").mkdir(exist_ok=True)
    variables = {"TEST_RELAY_URL": "ws://127.0.0.1:5555", "TEST_PROJECT_ID": "test"}
    options = ("--dir", "test/sdk", "--threads=false", "--config", "../../vitest.config.ts")
    command = ("../../node_modules/.bin/vitest", "run", *options)
    run(*command, *to_report(reports, "walletconnect"), cwd=client, **variables)


def to_report(reports: Path, name: str) -> tuple[str, str]:
    """Vitest's options for a report."""
    return "--reporter=junit", f"--outputFile={reports}/{name}.xml"


@contextmanager
def rpc_server(folder: Path) -> Iterator[None]:
    """The JavaScript SDK's server, which executes what the TCK asks for."""
    command = ["node_modules/.bin/ts-node", "--transpile-only", "server.ts"]
    environ = os.environ | {"PORT": str(RPC_PORT)}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=folder, env=environ, **silent)
    try:
        for _ in range(300):
            with socket.socket() as tried:
                if not tried.connect_ex(("127.0.0.1", RPC_PORT)):
                    break
            time.sleep(0.2)
        yield
    finally:
        server.terminate()
        server.wait()


def run_python_examples(folder: Path, reports: Path) -> None:
    sdk, python = folder / "py", folder / "pyenv/bin/python"
    files = list_claimed(sdk, "examples/*/*.py", "examples/*.py")
    run_each(reports, [Program(file, python, file, sdk, {"NETWORK": "solo"}) for file in files])


def run_javascript_examples(folder: Path, reports: Path) -> None:
    sdk = folder / "js"
    files = list_claimed(sdk, "examples/*/*.js", "examples/*.js")
    programs = []
    for file in files:
        operator = operator_of((sdk / file).read_text(), is_python=False)
        variables = {"HEDERA_NETWORK": "local-node"} | operator
        programs.append(Program(file, "node", file, sdk, variables))
    run_each(reports, programs)


def run_programs(folder: Path, reports: Path) -> None:
    """Run documented programs that need an SDK alone, on the local network in place of testnet."""
    modules = reports / "node_modules"
    modules.unlink(missing_ok=True)
    modules.symlink_to(folder / "jsrun/node_modules")
    programs = []
    for name in (*write_blocks(folder / "docs", reports), *copy_programs(folder / "dev", reports)):
        is_python = name.endswith("py")
        path = reports / name
        runner = folder / "pyenv/bin/python" if is_python else "node"
        network = "solo" if is_python else "local-node"
        variables = dict.fromkeys(("HEDERA_NETWORK", "NETWORK"), network)
        variables |= operator_of(path.read_text(), is_python)
        programs.append(Program(name, runner, path.name, path.parent, variables))
    run_each(reports, programs)


def write_blocks(folder: Path, reports: Path) -> Iterator[str]:
    """Write the blocks of pages that are whole programs into files; returns their names."""
    for page in sorted(folder.rglob("*.mdx")):
        for number, (language, content) in enumerate(BLOCK.findall(page.read_text()), start=1):
            program = localize(textwrap.dedent(content))
            if is_whole(program, language):
                is_module = "require(" not in program
                ending = "py" if language == "python" else "mjs" if is_module else "cjs"
                name = f"{page.stem}-{number}.{ending}"
                (reports / name).write_text(program)
                yield name


def copy_programs(folder: Path, reports: Path) -> Iterator[str]:
    """Copy repositories of programs; returns the names of those that are whole with their repository."""
    copy = reports / folder.name
    shutil.rmtree(copy, ignore_errors=True)
    if folder.is_dir():
        shutil.copytree(folder, copy)
    for sample in copy.rglob("*.sample"):  # of a file of settings
        if not sample.with_suffix("").exists():
            shutil.copy(sample, sample.with_suffix(""))
    for path in sorted(copy.rglob("*.*")):
        language = LANGUAGES.get(path.suffix)
        if language and path.is_file() and ".git" not in path.parts:
            program = localize(path.read_text())
            path.write_text(program)
            if is_whole(program, language, with_repository=True):
                yield str(path.relative_to(reports))


def localize(program: str) -> str:
    for remote, local in LOCAL.items():
        program = program.replace(remote, local)
    return program


def is_whole(program: str, language: str, *, with_repository: bool = False) -> bool:
    """Whether a program imports an SDK, and needs nothing that is not here, or in its repository."""
    names = {*(PYTHON_IMPORT if language == "python" else JAVASCRIPT_IMPORT).findall(program)}
    if with_repository:
        names = {name for name in names if not name.startswith(".")}
    known = {*sys.stdlib_module_names, *PACKAGES, *NODE_MODULES}
    has_client = any(word in program for word in ("Client.for", "Client(", "from_env("))
    is_of_sdk = bool(names & {*PACKAGES[:2]})
    variables = {
        word for found in ENV.findall(program) for word in re.findall(r"\w+", "".join(found))
    }
    is_claimed = not any(word in program for word in UNCLAIMED)
    return is_of_sdk and names <= known and has_client and is_claimed and variables <= VARIABLES


def operator_of(program: str, is_python: bool) -> dict[str, str]:
    """The operator for a program, under all names that programs use, with the kind of key that it reads."""
    operator, prefix = (
        (ECDSA, ECDSA_PREFIX) if READS_ECDSA.search(program) else (ED25519, ED25519_PREFIX)
    )
    raw = operator.private_key.to_string_raw()
    key = raw if is_python and operator is ECDSA else prefix + raw
    given = dict.fromkeys(OPERATOR_IDS, operator.account_id) | dict.fromkeys(OPERATOR_KEYS, key)
    return given | {"OPERATOR_KEY_HEX": raw}


class Program(NamedTuple):
    name: str
    runner: str | Path
    file: str
    folder: Path  # that it is run in
    variables: dict[str, str]


def run_each(reports: Path, programs: list[Program]) -> None:
    """Run programs that fail by their exit code, some at once; write a report, and what each prints."""
    suite = ElementTree.Element("testsuite")

    def end(program: Program) -> int:
        limits = {"cwd": program.folder, "seconds": EXAMPLE_SECONDS}
        with (reports / f"{program.name.replace('/', '+')}.txt").open("w") as output:
            return run(program.runner, program.file, **limits, output=output, **program.variables)

    with ThreadPoolExecutor(EXAMPLES_AT_ONCE) as pool:
        for program, code in zip(programs, pool.map(end, programs), strict=True):
            case = ElementTree.SubElement(suite, "testcase", name=program.name)
            if code:
                ElementTree.SubElement(case, "failure", message=str(code))
    ElementTree.ElementTree(suite).write(reports / "programs.xml")


SUITES = {
    "python": Suite("hiero-ledger/hiero-sdk-python", "py/tests/integration", run_python),
    "javascript": Suite("hiero-ledger/hiero-sdk-js", "js/test/integration", run_javascript),
    "tck": Suite("hiero-ledger/hiero-sdk-tck", "tck/src/tests", run_tck),
    "agent-kit": Suite("hashgraph/hedera-agent-kit-js", "kit/packages/core", run_agent_kit),
    "did": Suite("hiero-ledger/hiero-did-sdk-js", "did/packages", run_did),
    "python-examples": Suite("hiero-ledger/hiero-sdk-python", "py/examples", run_python_examples),
    "javascript-examples": Suite(
        "hiero-ledger/hiero-sdk-js", "js/examples", run_javascript_examples
    ),
    "programs": Suite("hashgraph/hedera-docs", "docs", run_programs),
    "walletconnect": Suite(
        "WalletConnect/walletconnect-monorepo", "wc/packages/sign-client/test", run_walletconnect
    ),
    "rest": Suite(
        "hiero-ledger/hiero-mirror-node",
        SPECS,
        lambda folder, reports: replay(folder / SPECS, reports),
    ),
}


def count(reports: Path) -> tuple[Counter[str], list[str]]:
    """Count the cases of all reports, each once. Returns the names of those that failed, too."""
    outcomes: dict[str, str] = {}
    for path in sorted(reports.glob("*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            name = f"{path.stem}: {case.get('classname', '')} {case.get('name')}"
            children = {child.tag for child in case}
            outcome = "failed" if children & {"failure", "error"} else "passed"
            outcome = "skipped" if "skipped" in children else outcome
            if outcomes.get(name) != "failed":  # a test may fail, and its teardown too
                outcomes[name] = outcome
    counts = Counter(outcomes.values())
    counts["tried"] = len(outcomes)
    return counts, [name for name, outcome in outcomes.items() if outcome == "failed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--reports", type=Path, help="Where the reports are kept")
    parser.add_argument("--write", action="store_true", help=f"Keep the counts in {RESULTS.name}")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"{', '.join(unknown)}: there are {', '.join(SUITES)}")
    if OWN_NAMESPACE not in os.environ:
        enter_namespace()
    folder = options.folder.resolve()
    reports = (options.reports or Path(tempfile.mkdtemp(prefix="peers-"))).resolve()
    print(f"{'suite':20}", *(f"{name:>8}" for name in (*COLUMNS, "seconds")))
    for name in options.suites or SUITES:
        if (folder / SUITES[name].needs).is_dir():
            counts = run_suite(name, folder, reports / name)
            if options.write:
                keep(name, version_of(folder / SUITES[name].needs), counts)
    print(f"Reports, and failed.txt of each: {reports}")


def enter_namespace() -> None:
    os.environ[OWN_NAMESPACE] = "1"
    command = 'ip link set lo up && exec "$@"'
    program = (sys.executable, "-m", "stress.peers", *sys.argv[1:])
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", command, "sh", *program])


def run_suite(name: str, folder: Path, reports: Path) -> Counter[str]:
    reports.mkdir(parents=True, exist_ok=True)
    for old in reports.glob("*.xml"):
        old.unlink()
    began = time.monotonic()
    standard_ports = ("--balance-queries",)
    log_file = reports / "sandbox.log"
    with log_file.open("w") as log, testing.serving(*standard_ports, log=log) as sandbox:
        for operator in (ED25519, ECDSA):
            sandbox.give(operator.account_id, OPERATORS_HBAR * TINYBARS)
        SUITES[name].run(folder, reports)
    counts, failed = count(reports)
    (reports / "failed.txt").write_text("".join(f"{each}\n" for each in failed))
    figures = [counts[column] for column in COLUMNS] + [round(time.monotonic() - began)]
    print(f"{name:20}", *(f"{figure:8}" for figure in figures), flush=True)
    return counts


def version_of(folder: Path) -> str:
    """The commit that is checked out, after the tag before it: v2.87.0-5-g7d47c7dd0."""
    command = ("git", "-C", folder, "describe", "--tags", "--always")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def keep(name: str, version: str, counts: Counter[str]) -> None:
    """Keep a suite's counts, in place of its former ones."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    about = {"repository": SUITES[name].repository, "version": version}
    about["date"] = f"{datetime.now(UTC):%Y-%m-%d}"
    results[name] = about | {column: counts[column] for column in COLUMNS}
    ordered = {each: results[each] for each in SUITES if each in results}
    RESULTS.write_text(f"{json.dumps(ordered, indent=2)}\n")


if __name__ == "__main__":
    main()
