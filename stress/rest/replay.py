"""Replays the mirror node's REST specs: their data in a ledger in memory, and each URL with its answer.

A spec is a JSON file: what the mirror node's database holds (``setup``), and requests with the status and the
body that they get. UNKNOWN and NEVER_NULL are fields of bodies that are not compared, since the ledger does
not hold them as that database does. If it can't hold the data at all, only the status and errors are.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from hiero_sandbox.application import create_sandbox
from hiero_sandbox.conditions import conditions
from hiero_sandbox.database import write
from hiero_sandbox.storage import Connection
from marketplace.hedera import times
from stress.rest import accounts, tokens, topics, transactions
from stress.rest.values import Inexpressible, id_of, is_current, read_key, to_entity

# Tables that the ledger does not have.
MISSING = ("recordFiles", "filedata", "config", "contractresults")
# Contracts, and users of the mirror node: there are none here.
LEFT_OUT = ("contracts/", "stateproof/", "authentication/", "route/")
# What the ledger does not hold as the mirror node's database does: some other value is there.
UNKNOWN = {
    "bytes",  # of a transaction
    "delegation_address",
    "ethereum_nonce",
    "max_supply",
    "running_hash_version",
    "stake_period_start",
    "supply_type",
    "total_supply",  # is counted
    "transaction_body",
}
# Where the spec's rows have null, these have a value here.
NEVER_NULL = {
    "auto_renew_period",
    "balance",
    "created_timestamp",
    "custom_fees",
    "deleted",
    "decimals",
    "expiry_timestamp",
    "key",  # an account has its public key
    "max_automatic_token_associations",
    "memo_base64",
    "modified_timestamp",
    "nonce",  # of a message's first chunk
    "receiver_sig_required",
    "scheduled",
    "timestamp",
}
# Of which time balances are: here, each moment has its own.
MOMENTS = re.compile(r"\.timestamp|.*\.balance\.timestamp")
NOT_LOADED = "not loaded"  # the answer is about what the ledger can't hold


class Case(NamedTuple):
    name: str
    url: str
    status: int
    body: Any
    setup: dict[str, Any]


def list_cases(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.rglob("*.json")):
        name = str(path.relative_to(folder))
        if name.startswith(LEFT_OUT):
            continue
        spec = json.loads(path.read_text())
        for test in spec.get("tests", [spec]):
            for url in test.get("urls") or [test.get("url")]:
                body = test.get("responseJson")
                if url:
                    yield Case(name, url, test["responseStatus"], body, spec.get("setup", {}))


def replay(folder: Path, reports: Path) -> None:
    """Replay all cases, and write a report in JUnit's format. Their class says what was compared."""
    suite = ElementTree.Element("testsuite")
    for case in list_cases(folder):
        how, difference = judge(case)
        written = ElementTree.SubElement(
            suite, "testcase", classname=how, name=f"{case.name} {case.url}"
        )
        if how == NOT_LOADED:
            ElementTree.SubElement(written, "skipped")
        if difference:
            ElementTree.SubElement(written, "failure", message=difference)
    ElementTree.ElementTree(suite).write(reports / "rest.xml")


def judge(case: Case) -> tuple[str, str]:
    """Whether a body or a status was compared, and what differs; an empty text if nothing does."""
    app = create_sandbox()
    how = "body"
    with app.app_context(), write() as db:
        for table in ("account", "alias"):
            db.execute(f"DELETE FROM {table}")
        try:
            load(db, case.setup, case.url)
        except Inexpressible:
            how = "status"
    with app.app_context():
        conditions().clock_moved = fake_clock(case.setup)
    answer = app.test_client().get(case.url)
    if how == "status" and (answer.status_code, case.status) == (404, 200):
        return NOT_LOADED, ""
    if answer.status_code != case.status:
        return how, f"status {answer.status_code} for {case.status}: {answer.text.strip()[:200]}"
    if how == "status" and case.status == 200:
        return how, ""
    return how, next(list_differences(case.body, answer.json), "")


def fake_clock(setup: dict[str, Any]) -> int:
    """How far the clock of a spec is from this machine's, in nanoseconds."""
    time = setup.get("features", {}).get("fakeTime")
    if time is None:
        return 0
    if isinstance(time, str):
        day, _, clock = time.rstrip("Z").partition("T")
        time = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}+00:00").timestamp()
    return int(time) * times.SECOND - times.now()


def list_differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    name = path.rpartition(".")[2]
    if name in UNKNOWN or (expected is None and name in NEVER_NULL):
        return
    if MOMENTS.fullmatch(path):
        return
    if name == "expiry_timestamp" and isinstance(expected, int):
        return  # a token's, which is in whole seconds here
    if isinstance(expected, dict) and "_type" in expected and not is_key(expected):
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected | actual:
            yield from list_differences(expected.get(key), actual.get(key), f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for one, other in zip(expected, actual, strict=True):
            yield from list_differences(one, other, path)
    elif expected != actual:
        yield f"{path}: {json.dumps(actual)[:300]} for {json.dumps(expected)[:300]}"


def is_key(shown: Any) -> bool:
    """Whether a key of a body is one, not just some bytes."""
    return shown["_type"] != "ProtobufEncoded" or read_key(shown["key"]) is not None


def load(db: Connection, setup: dict[str, Any], url: str) -> None:
    """Write all that a spec's database holds. Raises Inexpressible."""
    for name in MISSING:
        if setup.get(name):
            raise Inexpressible(name)
    entities = {id_of(row): row for row in setup.get("entities", ()) if is_current(row)}
    accounts.load(db, setup, is_list=url.startswith("/api/v1/balances"))
    for row in setup.get("tokens", ()):
        tokens.load_token(db, row, entities.get(to_entity(row["token_id"]), {}))
    of_tokens = {to_entity(row["token_id"]): row for row in setup.get("tokens", ())}
    for row in setup.get("tokenaccounts", ()):
        token = of_tokens.get(to_entity(row["token_id"]), {})
        statuses = {
            name: token.get(name) if row.get(name) is None else row[name]
            for name in ("freeze_status", "kyc_status")
        }
        tokens.load_association(db, row | statuses)
    for row in filter(is_current, setup.get("nfts", ())):
        tokens.load_nft(db, row)
    for row in filter(is_current, setup.get("cryptoAllowances", ())):
        tokens.load_allowance(db, row)
    for row in filter(is_current, setup.get("tokenAllowances", ())):
        tokens.load_allowance(db, row)
    for row in setup.get("schedules", ()):
        transactions.load_schedule(db, row, entities.get(to_entity(row["schedule_id"]), {}))
    for row in setup.get("transactionsignatures", ()):
        transactions.load_signature(db, row)
    for row in setup.get("topicmessages", ()):
        topics.load_message(db, row)
    transactions.load(db, setup)
