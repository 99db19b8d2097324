"""Parameters as the mirror node reads them: several values, names of accounts, and what is refused."""

import pytest

from hiero_sandbox.ledger.genesis import known_accounts
from sandbox.tests.batches import BATCHER, batch, inner, pay
from sandbox.tests.bodies import NFT, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE

KNOWN = next(known for known in known_accounts() if known.has_alias)
ADDRESS, KEY = sorted(KNOWN.aliases, key=len)


@pytest.fixture
def refused(alone):
    """The messages of a refusal."""

    def refused(path):
        answer = alone.get(path)
        assert answer.status_code == 400, path
        return answer.json["_status"]["messages"]

    return refused


def test_of_several_values_the_last_one_counts(alone):
    rows = alone.get("/accounts?limit=9&limit=2&order=asc&order=desc").json["accounts"]
    assert [row["account"] for row in rows] == ["0.0.1031", "0.0.1030"]


def test_each_wrong_value_is_named_and_unknown_parameters_are_last(refused):
    messages = refused("/tokens?block.number=3&limit=-2&limit=x&order=any&name=ab")
    assert [each["message"] for each in messages] == [
        "Invalid parameter: limit",
        "Invalid parameter: limit",
        "Invalid parameter: order",
        "Invalid parameter: name",
        "Unknown query parameter: block.number",
    ]


@pytest.mark.parametrize("path", ["/balances", "/accounts"])
def test_lists_of_accounts_take_one_address(alone, refused, path):
    name = path[1:]
    for address in (
        ADDRESS.hex(),
        f"0x{ADDRESS.hex()}",
        alone.get(f"/accounts/{KNOWN.account_id}").json["alias"],
    ):
        [row] = alone.get(f"{path}?account.id={address}").json[name]
        assert row["account"] == KNOWN.account_id
        assert len(alone.get(f"{path}?account.id={address}&account.id=0.0.1002").json[name]) == 2
    assert alone.get(f"{path}?account.id=0x{'ab' * 20}").json[name] == []
    [message] = refused(f"{path}?account.id=gt:{ADDRESS.hex()}")
    assert message["detail"] == "EVM address or alias only supports equals operator"
    [message] = refused(f"{path}?account.id={ADDRESS.hex()}&account.id={'ab' * 20}")
    assert message["detail"] == "Only one EVM address or alias is allowed."


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("ab" * 20, 404),
        (f"9.2.{'0' * 37}3ea", 400),  # of another shard and realm
        ("KGNABD5L3ZGSRVUCSPDR7TONZSRY3D5OMEBKQMVTD2AC6JL72HMQ", 404),
        ("KGNABD5L3ZGSRVUCSPDR7TONZSRY3D5OMEBKQMVTD2AC6JL", 400),  # bits are left over
    ],
)
def test_names_of_no_account(alone, text, status):
    assert alone.get(f"/accounts/{text}").status_code == status
    assert alone.get(f"/accounts/{text}/nfts").status_code == status


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "allowances/crypto?spender.id",
            "Not equal (ne) comparison operator is not supported for spender.id",
        ),
        ("allowances/tokens?spender.id", "Not equal (ne) operator is not supported for spender.id"),
        ("rewards?timestamp", "Not equals (ne) operator is not supported for timestamp"),
    ],
)
def test_ne_is_refused_in_words(refused, path, message):
    assert refused(f"/accounts/0.0.1002/{path}=ne:5") == [{"message": message}]


def test_a_range_that_its_last_row_ends_has_no_further_page(alone):
    path = "/accounts?account.id=gte:0.0.1002&account.id=lte:0.0.1003&limit=2"
    for order in ("asc", "desc"):
        page = alone.get(f"{path}&order={order}").json
        assert (len(page["accounts"]), page["links"]["next"]) == (2, None)


def test_a_link_has_what_it_goes_on_after_at_its_end(alone):
    path = "/accounts?account.id=gte:0.0.1002&balance=false&limit=2"
    following = alone.get(path).json["links"]["next"]
    assert following == "/api/v1/accounts?balance=false&limit=2&account.id=gt:0.0.1003"


# Transactions


def test_who_gives_or_gets_an_nft_is_of_its_transaction(submit, get, minted):
    receipt = submit(transfer(CHARLIE, nfts=[(NFT, ALICE, BOB)]), CHARLIE, ALICE)
    assert receipt.result == "SUCCESS"
    for account_id in (ALICE, BOB, CHARLIE):
        [row] = get(f"/transactions?account.id={account_id}")["transactions"]
        assert row["nft_transfers"]
    for direction in ("credit", "debit"):
        path = f"/transactions?account.id={BOB}&type={direction}"
        assert get(path)["transactions"] == []


def test_nothing_is_of_two_times_or_both_credit_and_debit(submit, get):
    submit(transfer(ALICE, {ALICE: -5, BOB: 5}), ALICE)
    [row] = get("/transactions")["transactions"]
    moment = row["consensus_timestamp"]
    assert len(get(f"/transactions?timestamp={moment}")["transactions"]) == 1
    assert get(f"/transactions?timestamp={moment}&timestamp=5")["transactions"] == []
    assert get("/transactions?type=credit&type=debit")["transactions"] == []


def test_a_batch_is_shown_with_what_it_holds(done, get):
    content = batch(inner(pay(ALICE, BOB, 1), ALICE), inner(pay(BOB, ALICE, 2), BOB))
    outer = done(content, CHARLIE, BATCHER)
    rows = get(f"/transactions/{outer['transaction_id']}")["transactions"]
    assert [row["name"] for row in rows] == ["ATOMICBATCH", "CRYPTOTRANSFER", "CRYPTOTRANSFER"]
    [alone] = get(f"/transactions/{rows[1]['transaction_id']}")["transactions"]
    assert alone == rows[1]
    by_hash = outer["transaction_hash"].replace("/", "_").replace("+", "-")
    assert get(f"/transactions/{by_hash}")["transactions"] == [outer]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/contracts?contract.id=gte:0.0.1001&limit=5&order=asc", "contracts"),
        ("/contracts/results?timestamp=gt:0&internal=true&from=0x00&block.number=3", "results"),
    ],
)
def test_there_are_no_contracts(alone, refused, path, name):
    assert alone.get(path).json == {name: [], "links": {"next": None}}
    assert refused(f"{path}&colour=red") == [{"message": "Unknown query parameter: colour"}]


@pytest.mark.parametrize(
    ("path", "status"),
    [("/accounts/0.0.77777", "404 Not Found"), ("/tokens?limit=x", "400 Bad Request")],
)
def test_a_status_has_the_phrase_that_programs_compare(alone, path, status):
    assert alone.get(path).status == status
