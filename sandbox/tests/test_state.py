"""The state of a sandbox in a file: of this version, of another one, and of something else."""

import json

import pytest

from hiero_sandbox import database, state
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.errors import LedgerRefused

GIFT = {"accountId": "0.0.1002", "amount": 7}


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


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 2, "tables": {}}', '{"format": 1, "tables": 5}']
)
def test_what_is_no_state_is_refused(tmp_path, content):
    (tmp_path / "state.json").write_text(content)
    sandbox = create_sandbox()
    with pytest.raises(LedgerRefused):
        state.load(sandbox.extensions[database.KEY], tmp_path / "state.json")
    assert len(sandbox.test_client().get("/api/v1/accounts").json["accounts"]) == 25
