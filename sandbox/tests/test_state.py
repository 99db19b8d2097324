"""The state of a sandbox in a file: of this version, of another one, and of something else."""

import json
from pathlib import Path

import pytest
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import database, state
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.errors import LedgerRefused
from sandbox.tests import story
from sandbox.tests.alone import Alone
from sandbox.tests.bodies import transfer

GIFT = {"accountId": "0.0.1002", "amount": 7}
# What former versions have dumped after playing sandbox/tests/story.py. Each stays, whatever changes.
DUMPED = sorted((Path(__file__).parent / "ledgers").glob("*.json"))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What this version shows after the story, and its dump."""
    path = tmp_path_factory.mktemp("state") / "state.json"
    return story.dump(path), path


def load(path):
    alone = Alone()
    state.load(alone.app.extensions[database.KEY], path)
    return alone


def test_a_state_is_the_same_after_it_was_dumped_and_loaded(shown):
    expected, path = shown
    assert story.show(load(path)) == expected
    assert expected["nft"] == (story.BUYER, story.ISSUER, b"ipfs://one")
    assert (expected["message"], expected["file"]) == (b"hello", b"first")


@pytest.mark.parametrize("path", DUMPED, ids=lambda path: path.stem)
def test_what_a_former_version_has_dumped_is_loaded(shown, path):
    alone = load(path)
    assert story.show(alone) == shown[0]
    assert alone.submit(transfer(story.BUYER, {story.BUYER: -5, "0.0.3": 5}), story.BUYER) == (
        "SUCCESS"
    )
    sale = transfer(story.ISSUER, nfts=[((story.TOKEN, 1), story.BUYER, story.ISSUER, True)])
    assert alone.submit(sale, story.ISSUER) == "SUCCESS"


def test_the_first_release_has_left_its_dump():
    assert "0.1.0" in [path.stem for path in DUMPED]


def test_a_loaded_ledger_knows_its_past(shown):
    """Former rows are part of the state: a balance before the first sale."""
    alone = load(shown[1])
    [first] = alone.get("/transactions?limit=1&order=asc").json["transactions"]
    moment = first["consensus_timestamp"]
    path = f"/accounts/{story.BUYER}?timestamp={moment}"
    assert alone.get(path).json["balance"]["balance"] == 10**12


def test_a_state_of_another_version_is_loaded(tmp_path):
    """It has a table and a column that are gone, and lacks a column that is new."""
    before, path = create_sandbox(), tmp_path / "state.json"
    before.test_client().post("/faucet", json=GIFT)
    state.dump(before.extensions[database.KEY].connection, path)
    content = json.loads(path.read_text())
    content["tables"]["shelf"] = [{"book": 1}]
    for row in content["tables"]["account"]:
        row["colour"] = "red"
        del row["declines_reward"]
    path.write_text(json.dumps(content))
    after = create_sandbox()
    state.load(after.extensions[database.KEY], path)
    for show in ("transactions?limit=1", "accounts?account.id=1002&balance=false"):
        shown = [each.test_client().get(f"/api/v1/{show}").json for each in (before, after)]
        assert shown[0] == shown[1]
    account = after.test_client().get("/api/v1/accounts/0.0.1002").json
    assert account["balance"]["balance"] == 10**12 + 7


def test_a_type_that_only_another_version_executes_is_shown(shown, tmp_path):
    content = json.loads(shown[1].read_text())
    row = content["tables"]["transaction_record"][0]
    body = TransactionBody.FromString(bytes.fromhex(row["body"]["hex"]))
    body.contractCall.gas = 5
    row["body"] = {"hex": body.SerializeToString().hex()}
    (tmp_path / "state.json").write_text(json.dumps(content))
    alone = load(tmp_path / "state.json")
    [first] = alone.get("/transactions?limit=1&order=asc").json["transactions"]
    assert (first["name"], first["entity_id"]) == ("CONTRACTCALL", None)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 2, "tables": {}}', '{"format": 1, "tables": 5}']
)
def test_what_is_no_state_is_refused(tmp_path, content):
    (tmp_path / "state.json").write_text(content)
    sandbox = create_sandbox()
    with pytest.raises(LedgerRefused):
        state.load(sandbox.extensions[database.KEY], tmp_path / "state.json")
    assert len(sandbox.test_client().get("/api/v1/accounts").json["accounts"]) == 25
