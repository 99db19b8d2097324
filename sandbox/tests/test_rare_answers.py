"""The sandbox shows what mirror nodes show rarely: several rows under an id, deleted tokens."""

import base64

import pytest

from hiero_sandbox import times
from hiero_sandbox.ids import TransactionId
from sandbox.tests.bodies import HBAR, NFT, allow, approval, new_body, sign
from sandbox.tests.people import ALICE, CHARLIE, MARKET, TOKEN


@pytest.fixture
def history(get):
    path = f"/tokens/{TOKEN}/nfts/7/transactions"
    return lambda: [event["type"] for event in get(path)["transactions"]]


@pytest.fixture
def shown(get):
    return lambda: get(f"/tokens/{TOKEN}/nfts/7")


def test_a_transaction_submitted_to_a_second_node_leaves_a_second_row(ledger, rows, minted):
    body = approval(ALICE)
    assert ledger.submit(sign(body, ALICE)).result == "SUCCESS"
    assert ledger.submit(sign(body, ALICE)).result == "DUPLICATE_TRANSACTION"  # the node knows it
    assert len(rows(body)) == 1
    body.nodeAccountID.accountNum = 4
    assert ledger.submit(sign(body, ALICE)).result == "DUPLICATE_TRANSACTION"
    first, second = rows(body)
    assert (first["result"], first["node"]) == ("SUCCESS", "0.0.3")
    assert (second["result"], second["node"]) == ("DUPLICATE_TRANSACTION", "0.0.4")
    assert second["charged_tx_fee"] == HBAR // 1000


def test_a_schedule_executes_an_approval_under_its_own_id(submit, rows, history, shown, minted):
    body = new_body(CHARLIE)
    scheduled = body.scheduleCreate.scheduledTransactionBody
    scheduled.memo, scheduled.transactionFee = "signed", body.transactionFee
    allow(scheduled.cryptoApproveAllowance, NFT, ALICE, MARKET)
    assert submit(body, CHARLIE, ALICE).result == "SUCCESS"
    made, executed = rows(body)
    assert (made["name"], made["scheduled"]) == ("SCHEDULECREATE", False)
    assert (executed["name"], executed["scheduled"]) == ("CRYPTOAPPROVEALLOWANCE", True)
    assert base64.b64decode(executed["memo_base64"]) == b"signed"
    assert shown()["spender"] == MARKET
    assert shown()["modified_timestamp"] == executed["consensus_timestamp"]
    assert history() == ["CRYPTOAPPROVEALLOWANCE", "TOKENMINT"]


def test_a_deleted_token_takes_its_nfts_with_it_and_moves_no_date(
    ledger, submit, get, shown, minted
):
    ledger.approve(NFT, ALICE, MARKET)
    before = shown()
    assert ledger.delete_token(TOKEN).result == "SUCCESS"
    assert shown() == before | {"deleted": True}
    assert get(f"/tokens/{TOKEN}")["deleted"] is True
    assert get(f"/accounts/{ALICE}/nfts?spender.id={MARKET}")["nfts"] == [shown()]

    assert ledger.delete_token(TOKEN).result == "TOKEN_WAS_DELETED"
    assert submit(approval(ALICE), ALICE).result == "TOKEN_WAS_DELETED"


def test_the_history_of_each_nft_ends_with_the_deletion_of_its_token(ledger, get, history, minted):
    ledger.mint((TOKEN, 8), ALICE, times.now())
    assert ledger.wipe((TOKEN, 8), ALICE).result == "SUCCESS"
    deletion = ledger.delete_token(TOKEN)
    newest = [get(f"/tokens/{TOKEN}/nfts/{n}/transactions")["transactions"][0] for n in (7, 8)]
    consensus_at = get(f"/tokens/{TOKEN}")["modified_timestamp"]
    assert newest == 2 * [
        {
            "consensus_timestamp": consensus_at,
            "is_approval": False,
            "nonce": 0,
            "receiver_account_id": None,
            "sender_account_id": None,
            "transaction_id": TransactionId.parse(deletion.transaction_id).dashed,
            "type": "TOKENDELETION",
        }
    ]
    [deleted] = get(f"/transactions?timestamp={consensus_at}")["transactions"]
    assert deleted["name"] == "TOKENDELETION"


def test_an_update_of_metadata_keeps_the_approval(ledger, history, shown, minted):
    ledger.approve(NFT, ALICE, MARKET)
    before = shown()
    assert ledger.update_metadata(NFT, "ipfs://other/7.json").result == "SUCCESS"
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
