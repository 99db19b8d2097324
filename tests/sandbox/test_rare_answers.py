"""The sandbox shows what mirror nodes show rarely: several rows under an id, 206, null, deleted tokens."""

import base64

import pytest

from marketplace import times
from marketplace.market.memos import listing_memo
from stress import lives
from tests.conftest import ALICE, BOB, CHARLIE, TOKEN, assert_error
from tests.sandbox.bodies import HBAR, NFT, approval

pytestmark = pytest.mark.once("the sandbox keeps its ledger on SQLite")

MARKET = "0.0.9001"
API = "/sandbox/api/v1"


@pytest.fixture
def rows(get):
    return lambda body: get(f"/transactions/{lives.id_of(lives.seal(body)).dashed}")["transactions"]


@pytest.fixture
def history(get):
    path = f"/tokens/{TOKEN}/nfts/7/transactions"
    return lambda: [event["type"] for event in get(path)["transactions"]]


@pytest.fixture
def shown(get):
    return lambda: get(f"/tokens/{TOKEN}/nfts/7")


def test_a_transaction_submitted_to_a_second_node_leaves_a_second_row(submit, rows, minted):
    body = approval(ALICE)
    assert submit(body, ALICE).result == "SUCCESS"
    assert submit(body, ALICE).result == "DUPLICATE_TRANSACTION"  # the same node knows it
    assert len(rows(body)) == 1
    body.nodeAccountID.accountNum = 4
    assert submit(body, ALICE).result == "DUPLICATE_TRANSACTION"
    first, second = rows(body)
    assert (first["result"], first["node"]) == ("SUCCESS", "0.0.3")
    assert (second["result"], second["node"]) == ("DUPLICATE_TRANSACTION", "0.0.4")
    assert second["charged_tx_fee"] == HBAR // 1000


def test_a_schedule_executes_an_approval_under_its_own_id(submit, rows, history, shown, minted):
    body = lives.new_body(CHARLIE, listing_memo(*NFT, 1, "Foo"))
    scheduled = body.scheduleCreate.scheduledTransactionBody
    scheduled.memo = "signed"
    lives.allow(scheduled.cryptoApproveAllowance, NFT, ALICE, MARKET)
    assert submit(body, CHARLIE).result == "INVALID_SIGNATURE"
    assert shown()["spender"] is None

    lives.give_new_id(body, CHARLIE)
    assert submit(body, CHARLIE, ALICE).result == "SUCCESS"
    made, executed = rows(body)
    assert (made["name"], made["scheduled"]) == ("SCHEDULECREATE", False)
    assert (executed["name"], executed["scheduled"]) == ("CRYPTOAPPROVEALLOWANCE", True)
    assert base64.b64decode(executed["memo_base64"]) == b"signed"
    assert shown()["spender"] == MARKET
    assert shown()["modified_timestamp"] == executed["consensus_timestamp"]
    assert history() == ["CRYPTOAPPROVEALLOWANCE", "TOKENMINT"]


@pytest.mark.parametrize("kind", ["cryptoTransfer", "cryptoDeleteAllowance"])
def test_only_approvals_are_scheduled(submit, minted, kind):
    body = lives.new_body(ALICE, "")
    getattr(body.scheduleCreate.scheduledTransactionBody, kind).SetInParent()
    assert submit(body, ALICE).result == "SCHEDULED_TRANSACTION_NOT_IN_WHITELIST"


def test_a_deleted_token_takes_its_nfts_with_it_and_moves_no_date(
    client, ledger, submit, get, shown, minted
):
    ledger.approve(NFT, ALICE, MARKET)
    before = shown()
    assert client.post("/sandbox/deletions", json={"tokenId": TOKEN}).json["result"] == "SUCCESS"
    assert shown() == before | {"deleted": True}
    assert get(f"/tokens/{TOKEN}")["deleted"] is True
    assert get(f"/accounts/{ALICE}/nfts?spender.id={MARKET}")["nfts"] == [shown()]

    again = client.post("/sandbox/deletions", json={"tokenId": TOKEN}).json
    assert again["result"] == "TOKEN_WAS_DELETED"
    assert ledger.hand_over(NFT, BOB).result == "TOKEN_WAS_DELETED"
    assert submit(approval(ALICE), ALICE).result == "TOKEN_WAS_DELETED"


def test_nobody_gets_what_is_of_a_deleted_token(client, get):
    client.post("/sandbox/deletions", json={"tokenId": TOKEN})
    assert get(f"/accounts/{ALICE}/nfts?token.id={TOKEN}&serialnumber=7")["nfts"] == []


def test_an_update_of_metadata_keeps_the_approval(client, ledger, history, shown, minted):
    ledger.approve(NFT, ALICE, MARKET)
    before = shown()
    body = {"tokenId": TOKEN, "serialNo": 7}
    assert client.post("/sandbox/updates", json=body).json["result"] == "SUCCESS"
    assert history()[0] == "TOKENUPDATENFTS"
    assert shown()["spender"] == MARKET
    assert shown()["modified_timestamp"] > before["modified_timestamp"]


def test_a_full_page_leads_on_to_an_empty_one(ledger, get):
    for serial_no in (1, 2):
        ledger.mint((TOKEN, serial_no), ALICE, times.now())
    page = get(f"/tokens/{TOKEN}/nfts?limit=2")
    assert len(page["nfts"]) == 2
    following = get(page["links"]["next"].removeprefix("/api/v1"))
    assert following == {"nfts": [], "links": {"next": None}}


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_history_is_paged(ledger, follow, minted, order):
    for _ in range(4):
        ledger.approve(NFT, ALICE, MARKET)
    path = f"/tokens/{TOKEN}/nfts/7/transactions?limit=2&order={order}"
    seen = [event["consensus_timestamp"] for event in follow(path, "transactions")]
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=order == "desc")


@pytest.mark.parametrize("timestamp", ["x", "ne:1.000000000", "lt:", "lt:x"])
def test_a_history_has_no_other_moments(client, minted, timestamp):
    path = f"{API}/tokens/{TOKEN}/nfts/7/transactions?timestamp={timestamp}"
    assert client.get(path).status_code == 400


def inject(client, fault):
    body = {"tokenId": TOKEN, "serialNo": 7, "oddity": fault}
    return client.post("/sandbox/oddities", json=body)


def test_a_mirror_node_may_have_begun_after_the_mint(client, history, shown, minted):
    assert inject(client, "PARTIAL_HISTORY").json == {"result": "OK"}
    r = client.get(f"{API}/tokens/{TOKEN}/nfts/7/transactions")
    assert r.status_code == 206
    assert history() == ["TOKENMINT"]
    assert shown()["created_timestamp"] is None


def test_metadata_may_be_null(client, shown, minted):
    inject(client, "METADATA_NULL")
    assert shown()["metadata"] is None


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
