"""The sandbox shows what mirror nodes show rarely: several rows under an id, 206, null, deleted tokens."""

import base64

import pytest

from marketplace import times
from marketplace.market.memos import listing_memo
from stress import lives
from tests.conftest import ALICE, BOB, CHARLIE, TOKEN, assert_error

pytestmark = pytest.mark.once("the sandbox keeps its ledger on SQLite")

MARKET = "0.0.9001"
NFT = (TOKEN, 7)
API = "/sandbox/api/v1"


@pytest.fixture
def minted(client, ledger):
    ledger.mint(NFT, ALICE, times.now())


def submit(ledger, body, *signers):
    content = lives.seal(body)
    for signer in signers:
        content = ledger.sign_bytes(content, signer)
    return ledger.submit(content)


def rows(client, body):
    transaction_id = lives.id_of(lives.seal(body)).dashed
    return client.get(f"{API}/transactions/{transaction_id}").json["transactions"]


def history(client):
    events = client.get(f"{API}/tokens/{TOKEN}/nfts/7/transactions").json["transactions"]
    return [event["type"] for event in events]


def shown(client):
    return client.get(f"{API}/tokens/{TOKEN}/nfts/7").json


def test_a_transaction_submitted_to_a_second_node_leaves_a_second_row(client, ledger, minted):
    body = lives.new_body(ALICE, "hello")
    lives.allow(body.cryptoApproveAllowance, NFT, ALICE, MARKET)
    assert submit(ledger, body, ALICE).result == "SUCCESS"
    assert submit(ledger, body, ALICE).result == "DUPLICATE_TRANSACTION"  # the same node knows it
    assert len(rows(client, body)) == 1
    body.nodeAccountID.accountNum = 4
    assert submit(ledger, body, ALICE).result == "DUPLICATE_TRANSACTION"
    assert [row["result"] for row in rows(client, body)] == ["SUCCESS", "DUPLICATE_TRANSACTION"]
    assert [row["node"] for row in rows(client, body)] == ["0.0.3", "0.0.4"]


def test_a_schedule_executes_an_approval_under_its_own_id(client, ledger, minted):
    body = lives.new_body(CHARLIE, listing_memo(*NFT, 1, "Foo"))
    scheduled = body.scheduleCreate.scheduledTransactionBody
    scheduled.memo = "signed"
    lives.allow(scheduled.cryptoApproveAllowance, NFT, ALICE, MARKET)
    assert submit(ledger, body, CHARLIE).result == "INVALID_SIGNATURE"
    assert shown(client)["spender"] is None

    lives.give_new_id(body, CHARLIE)
    assert submit(ledger, body, CHARLIE, ALICE).result == "SUCCESS"
    made, executed = rows(client, body)
    assert (made["name"], made["scheduled"]) == ("SCHEDULECREATE", False)
    assert (executed["name"], executed["scheduled"]) == ("CRYPTOAPPROVEALLOWANCE", True)
    assert base64.b64decode(executed["memo_base64"]) == b"signed"
    assert shown(client)["spender"] == MARKET
    assert shown(client)["modified_timestamp"] == executed["consensus_timestamp"]
    assert history(client) == ["CRYPTOAPPROVEALLOWANCE", "TOKENMINT"]


@pytest.mark.parametrize("kind", ["cryptoTransfer", "cryptoDeleteAllowance"])
def test_only_approvals_are_scheduled(client, ledger, minted, kind):
    body = lives.new_body(ALICE, "")
    getattr(body.scheduleCreate.scheduledTransactionBody, kind).SetInParent()
    result = submit(ledger, body, ALICE).result
    assert result == "SCHEDULED_TRANSACTION_NOT_IN_WHITELIST"


def test_a_deleted_token_takes_its_nfts_with_it_and_moves_no_date(client, ledger, minted):
    ledger.approve(NFT, ALICE, MARKET)
    before = shown(client)
    assert client.post("/sandbox/deletions", json={"tokenId": TOKEN}).json["result"] == "SUCCESS"
    assert shown(client) == before | {"deleted": True}
    assert client.get(f"{API}/tokens/{TOKEN}").json["deleted"] is True
    listed = client.get(f"{API}/accounts/{ALICE}/nfts?spender.id={MARKET}").json["nfts"]
    assert listed == [shown(client)]

    again = client.post("/sandbox/deletions", json={"tokenId": TOKEN}).json
    assert again["result"] == "TOKEN_WAS_DELETED"
    assert ledger.hand_over(NFT, BOB).result == "TOKEN_WAS_DELETED"
    body = lives.new_body(ALICE, "")
    lives.allow(body.cryptoApproveAllowance, NFT, ALICE, MARKET)
    assert submit(ledger, body, ALICE).result == "TOKEN_WAS_DELETED"


def test_nobody_gets_what_is_of_a_deleted_token(client):
    client.post("/sandbox/deletions", json={"tokenId": TOKEN})
    path = f"{API}/accounts/{ALICE}/nfts?token.id={TOKEN}&serialnumber=7"
    assert client.get(path).json["nfts"] == []


def test_an_update_of_metadata_keeps_the_approval(client, ledger, minted):
    ledger.approve(NFT, ALICE, MARKET)
    before = shown(client)
    body = {"tokenId": TOKEN, "serialNo": 7}
    assert client.post("/sandbox/updates", json=body).json["result"] == "SUCCESS"
    assert history(client)[0] == "TOKENUPDATENFTS"
    assert shown(client)["spender"] == MARKET
    assert shown(client)["modified_timestamp"] > before["modified_timestamp"]


def test_a_full_page_leads_on_to_an_empty_one(client, ledger):
    for serial_no in (1, 2):
        ledger.mint((TOKEN, serial_no), ALICE, times.now())
    page = client.get(f"{API}/tokens/{TOKEN}/nfts?limit=2").json
    assert len(page["nfts"]) == 2
    following = client.get("/sandbox" + page["links"]["next"]).json
    assert following == {"nfts": [], "links": {"next": None}}


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_history_is_paged(client, ledger, minted, order):
    for _ in range(4):
        ledger.approve(NFT, ALICE, MARKET)
    seen, path = [], f"/api/v1/tokens/{TOKEN}/nfts/7/transactions?limit=2&order={order}"
    while path:
        page = client.get("/sandbox" + path).json
        seen += [event["consensus_timestamp"] for event in page["transactions"]]
        path = page["links"]["next"]
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=order == "desc")


@pytest.mark.parametrize("timestamp", ["x", "ne:1.000000000", "lt:", "lt:x"])
def test_a_history_has_no_other_moments(client, minted, timestamp):
    path = f"{API}/tokens/{TOKEN}/nfts/7/transactions?timestamp={timestamp}"
    assert client.get(path).status_code == 400


def inject(client, fault):
    body = {"tokenId": TOKEN, "serialNo": 7, "oddity": fault}
    return client.post("/sandbox/oddities", json=body)


def test_a_mirror_node_may_have_begun_after_the_mint(client, minted):
    assert inject(client, "PARTIAL_HISTORY").json == {"result": "OK"}
    r = client.get(f"{API}/tokens/{TOKEN}/nfts/7/transactions")
    assert r.status_code == 206
    assert history(client) == ["TOKENMINT"]
    assert shown(client)["created_timestamp"] is None


def test_metadata_may_be_null(client, minted):
    inject(client, "METADATA_NULL")
    assert shown(client)["metadata"] is None


def test_an_id_may_be_one_that_no_network_can_have(client):
    inject(client, "IMPOSSIBLE_ID")
    path = f"{API}/accounts/{ALICE}/nfts?token.id={TOKEN}&serialnumber=7"
    for asked, said in (
        (path, f'Invalid entity ID "{TOKEN}"'),
        (f"{API}/tokens/{TOKEN}/nfts/7", "Invalid parameter: tokenid"),
    ):
        r = client.get(asked)
        assert r.status_code == 400
        assert r.json["_status"]["messages"] == [{"message": said}]


@pytest.mark.parametrize("seconds", [-1, 3601, "5", None, True, 1.5])
def test_a_list_lags_for_a_plain_number_of_seconds(client, seconds):
    assert_error(
        client.post("/sandbox/oddities/lag", json={"seconds": seconds}), 422, "seconds must"
    )


@pytest.mark.parametrize("fault", ["", "ODD", None, 5, []])
def test_there_are_no_other_faults(client, fault):
    assert_error(inject(client, fault), 422, "oddity must")
