"""The sandbox's mirror node answers with the real one's paths, shapes and errors."""

import base64
from urllib.parse import quote

import pytest

from hiero_sandbox.ids import MAX_INT64
from sandbox.tests.bodies import approval, id_of, seal, sign
from sandbox.tests.people import ALICE, TOKEN


@pytest.fixture
def get(app):
    return app.test_client().get


@pytest.fixture
def row(get, ledger, nft):
    """The row of an approval."""
    body = approval(ALICE, memo="Foo")
    dashed = id_of(seal(body)).dashed
    assert ledger.submit(sign(body, ALICE)).result == "SUCCESS"
    [row] = get(f"/api/v1/transactions/{dashed}").json["transactions"]
    return row


def message(r):
    return r.status_code, r.json["_status"]["messages"][0]["message"]


def test_every_nft_of_every_token_exists(get):
    r = get("/api/v1/tokens/0.0.31337/nfts/42")
    assert r.json == {
        "account_id": "0.0.1000",
        "created_timestamp": "1735689600.000000000",
        "delegating_spender": None,
        "deleted": False,
        "metadata": base64.b64encode(b"ipfs://0.0.31337/42.json").decode(),
        "modified_timestamp": "1735689600.000000000",
        "serial_number": 42,
        "spender": None,
        "token_id": "0.0.31337",
    }


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/tokens/0.0.x", (400, "Invalid parameter: tokenid")),
        ("/tokens/0.0.x/nfts/x", (400, "Invalid parameter: tokenid")),
        ("/tokens/0.0.1/nfts/9223372036854775808", (400, "Invalid parameter: serialnumber")),
        ("/tokens/0.0.1/nfts?limit=x", (400, "Invalid parameter: limit")),
        (f"/accounts?limit={'0' * 5000}1", (400, "Invalid parameter: limit")),
        ("/tokens?account.id=1&account.id=2", (400, "Invalid parameter: account.id")),
        ("/tokens/0.0.1/nfts?serialnumber=ne:4", (400, "Invalid parameter: serialnumber")),
        ("/tokens/0.0.1?colour=blue", (400, "Unknown query parameter: colour")),
        ("/accounts/alice", (400, "Invalid parameter: idOrAliasOrEvmAddress")),
        ("/accounts/0.0.1/nfts?token.id=x", (400, "Invalid parameter: token.id")),
        (
            "/accounts/0.0.1/nfts?serialnumber=1",
            (400, "serialnumber without a token.id parameter filter"),
        ),
        (
            "/accounts/0.0.1/nfts?token.id=1&token.id=2&serialnumber=1",
            (400, "Only one equal (eq) operator is allowed for token.id"),
        ),
        (
            "/accounts/0.0.1/allowances/tokens?spender.id=gt:5&spender.id=gte:6",
            (400, "Only one gt/gte operator is allowed for spender.id"),
        ),
        (
            "/accounts/0.0.1/nfts?spender.id=lt:5&spender.id=lte:6",
            (400, "Multiple range params not allowed for spender.id"),
        ),
        (f"/tokens/0.0.0x{18:040x}", (400, "Invalid parameter: tokenid")),
        (f"/tokens?name={'é' * 51}", (400, "Invalid parameter: name")),
        ("/tokens?name=gt:cats", (400, "Invalid parameter: name")),
        ("/transactions/0.0.1-1-1", (404, "Not found")),
        ("/transactions/0.0.1-9999999999-1", (503, "Service Unavailable")),
        (
            "/accounts/0.0.1/tokens?token.id=0.0.274877906944",
            (400, 'Invalid entity ID "0.0.274877906944"'),
        ),
        ("/transactions?timestamp=now", (400, "Invalid parameter: timestamp")),
        ("/transactions?timestamp=lt:", (400, "Invalid parameter: timestamp")),
        ("/transactions?timestamp=ne:1.000000000", (400, "Invalid parameter: timestamp")),
        (
            "/tokens?name=cats&token.id=5",
            (400, "token.id and name can not be used together. Use a more specific name instead."),
        ),
        ("/tokens?name=cats&account.id=5", (400, "account.id and name cannot be used together")),
        (
            "/accounts/0.0.1/allowances/tokens?token.id=5",
            (400, "token.id without a spender.id parameter filter"),
        ),
        (
            "/accounts/0.0.1/allowances/tokens?spender.id=gt:5&token.id=gt:5",
            (400, "spender.id must have gte or eq operator"),
        ),
    ],
)
def test_its_errors_are_the_mirror_nodes(get, path, answer):
    assert message(get(f"/api/v1{path}")) == answer


def test_a_transaction_id_of_the_wallets_form_is_refused(get):
    status, sentence = message(get("/api/v1/transactions/0.0.1@1.000000001"))
    assert status == 400
    assert sentence.startswith("Invalid Transaction id. Please use")


def test_a_transaction_is_found_by_its_consensus_timestamp(get, row):
    answer = get(f"/api/v1/transactions?timestamp={row['consensus_timestamp']}").json
    assert answer == {"transactions": [row], "links": {"next": None}}


def test_a_transaction_is_found_by_its_hash(get, row):
    raw = base64.b64decode(row["transaction_hash"])
    in_base64 = (row["transaction_hash"], base64.urlsafe_b64encode(raw).decode())
    for written in (*in_base64, raw.hex(), f"0x{raw.hex().upper()}"):
        path = f"/api/v1/transactions/{quote(written, safe='')}"
        assert get(path).json == {"transactions": [row]}
        assert get(f"{path}?nonce=1").status_code == 404
    assert get(f"/api/v1/transactions/{raw.hex()[:-1]}").status_code == 400  # too short


def test_nothing_has_an_unknown_hash(get, row):
    for written in ("/" * 64, "-" * 64, "0" * 96, "1/2"):
        path = f"/api/v1/transactions/{quote(written, safe='')}"
        assert message(get(path)) == (404, "Not found")
        assert message(get(f"{path}?n=1")) == (400, "Unknown query parameter: n")


def test_parameters_are_named_in_any_case(get, row):
    path = f"/api/v1/accounts/{ALICE}/nfts"
    whole = get(f"{path}?token.id={TOKEN}&limit=1").json
    assert get(f"{path}?Token.ID={TOKEN}&LIMIT=1").json == whole
    assert whole["links"]["next"]
    assert message(get(f"{path}?Limit=x")) == (400, "Invalid parameter: limit")
    assert message(get(f"{path}?Token.Id=1&token.id=2&serialNumber=1"))[0] == 400  # it is one name


def test_a_row_has_the_fields_of_the_mirror_nodes(get, row):
    assert "assessed_custom_fees" not in row  # but where there are some
    assert (row["high_volume"], row["high_volume_pricing_multiplier"]) == (False, 0)
    token = get(f"/api/v1/tokens/{TOKEN}").json
    assert type(token["expiry_timestamp"]) is type(token["auto_renew_period"]) is int
    address = "0x00000000000000000000000000000000000003e9"
    assert get(f"/api/v1/accounts/{ALICE}").json["evm_address"] == address


def test_blocks_follow_each_other(get, row):
    [newest] = get("/api/v1/blocks?limit=1&order=desc").json["blocks"]
    before = get(f"/api/v1/blocks?limit=2&block.number=lt:{newest['number']}").json["blocks"]
    assert [block["number"] for block in before] == [newest["number"] - 1, newest["number"] - 2]
    assert before[0]["previous_hash"] == before[1]["hash"]
    moment = row["consensus_timestamp"]
    [its] = get(f"/api/v1/blocks?timestamp={moment}").json["blocks"]
    assert its["count"] == 1
    assert its["timestamp"]["from"] <= moment <= its["timestamp"]["to"]


def test_a_block_is_found_by_its_number_or_hash(get, row):
    [block] = get(f"/api/v1/blocks?timestamp={row['consensus_timestamp']}").json["blocks"]
    digits = block["hash"].removeprefix("0x")
    for written in (block["number"], f"0x{digits}", digits.upper(), digits[:64]):
        assert get(f"/api/v1/blocks/{written}").json["hash"] == block["hash"]
    assert get(f"/api/v1/blocks/{block['previous_hash']}").json["number"] == block["number"] - 1
    assert get("/api/v1/blocks/0").json["number"] == 0
    other = digits[:-1] + ("1" if digits[-1] == "0" else "0")
    before_all = get("/api/v1/blocks/0").json["previous_hash"]
    for written in (other, before_all, block["number"] + 1000, MAX_INT64):
        assert message(get(f"/api/v1/blocks/{written}")) == (404, "Not found")
    for written in (digits[:-1], "-1", "x", MAX_INT64 + 1):
        sentence = "Invalid parameter: hashOrNumber"
        assert message(get(f"/api/v1/blocks/{written}")) == (400, sentence)


def test_the_stake_has_what_0_0_800_owes(get, client):
    before = get("/api/v1/network/stake").json
    client.post("/rewards", json={"accountId": ALICE, "amount": 7})
    after = get("/api/v1/network/stake").json
    assert (before["reserved_staking_rewards"], after["reserved_staking_rewards"]) == (0, 7)
    left = "unreserved_staking_reward_balance"
    assert after[left] == before[left] - 7
    assert message(get("/api/v1/network/stake?limit=1"))[0] == 400


def test_all_errors_are_reported_at_once(get):
    r = get(
        "/api/v1/tokens?account.id=lte:0.1.2.3&token.id=abc&limit=-2&publickey=-2&order=any&n=3"
    )
    wrong = ("account.id", "token.id", "limit", "publickey", "order")
    messages = [f"Invalid parameter: {name}" for name in wrong] + ["Unknown query parameter: n"]
    assert r.status_code == 400
    assert r.json == {"_status": {"messages": [{"message": each} for each in messages]}}


def test_its_headers_are_the_mirror_nodes(get, row):
    r = get(f"/api/v1/tokens/{TOKEN}/nfts?limit=1")
    assert r.headers["Content-Type"] == "application/json; charset=utf-8"
    assert r.headers["Link"] == f'<{r.json["links"]["next"]}>; rel="next"'
    transaction = f"transactions/{row['transaction_id']}"
    for path, seconds in ((transaction, 600), (f"tokens/{TOKEN}", 5), ("blocks", 1)):
        r = get(f"/api/v1/{path}")
        assert r.headers["Cache-Control"] == f"public, max-age={seconds}"
    assert "Cache-Control" not in get("/api/v1/nothing").headers
