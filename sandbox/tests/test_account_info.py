"""HAPI's answers about accounts, and about what transactions made of them."""

import pytest
from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID

from hiero_sandbox.ledger import keys
from hiero_sandbox.messages import account
from sandbox.tests import hapi
from sandbox.tests.accounts import address, creation, public, to_alias, update
from sandbox.tests.bodies import NFT, token_id, transfer
from sandbox.tests.people import ALICE, BOB

ED25519 = keys.of_bytes(bytes(32))


@pytest.fixture
def info(ask):
    def info(asked):
        return ask("cryptoGetInfo", payment=hapi.payment(ALICE), accountID=asked)[0].accountInfo

    return info


def test_an_alias_is_a_key_and_no_evm_address(submit, info):
    hollow, key = PrivateKey.generate_ecdsa(), PrivateKey.generate_ecdsa()
    submit(to_alias(address(hollow)), ALICE)
    assert info(AccountID(alias=address(hollow))).alias == b""
    alias = public(key).SerializeToString()
    submit(to_alias(alias), ALICE)
    assert info(AccountID(alias=address(key))).alias == alias


def test_nfts_are_counted(minted, info):
    assert info(account(ALICE)).ownedNfts == 1


def test_staking_is_kept(created, submit, info, get):
    account_id = created(creation(key=ED25519, staked_node_id=0, decline_reward=True), ALICE)
    staking = info(account(account_id)).staking_info
    assert (staking.WhichOneof("staked_id"), staking.staked_node_id) == ("staked_node_id", 0)
    assert staking.decline_reward
    body = update(BOB, staked_account_id=account(ALICE), decline_reward={"value": True})
    assert submit(body, ALICE, BOB).result == "SUCCESS"
    assert info(account(BOB)).staking_info.staked_account_id == account(ALICE)
    shown = get(f"/accounts/{BOB}")
    assert (shown["staked_account_id"], shown["staked_node_id"]) == (ALICE, None)
    assert shown["decline_reward"] is True
    body = update(BOB, staked_account_id=account("0.0.0"), decline_reward={"value": False})
    assert submit(body, ALICE, BOB).result == "SUCCESS"
    assert info(account(BOB)).staking_info.WhichOneof("staked_id") is None
    assert get(f"/accounts/{BOB}")["decline_reward"] is False


@pytest.mark.parametrize(
    "stake", [{"staked_node_id": 7}, {"staked_node_id": -1}, {"staked_account_id": AccountID()}]
)
def test_nobody_stakes_to_what_is_not_there(submit, stake):
    assert submit(creation(key=ED25519, **stake), ALICE).result == "INVALID_STAKING_ID"


def test_a_record_names_the_associations_that_its_transaction_made(minted, submit, ask):
    body = transfer(ALICE, nfts=[(NFT, ALICE, BOB)])
    submit(body, ALICE)
    asked = {"payment": hapi.payment(ALICE), "transactionID": body.transactionID}
    response, _ = ask("transactionGetRecord", **asked)
    [made] = response.transactionRecord.automatic_token_associations
    assert (made.account_id, made.token_id) == (account(BOB), token_id(NFT))


def test_an_account_has_the_records_that_it_has_paid_for(submit, ask):
    payers = (BOB, BOB, "0.0.3003")
    bodies = [transfer(payer, {payer: -1, ALICE: 1}) for payer in payers]
    for payer, body in zip(payers, bodies, strict=True):
        submit(body, payer)
    paid = {"payment": hapi.payment(ALICE), "accountID": account(BOB)}
    response, code = ask("cryptoGetAccountRecords", **paid)
    assert (code, response.accountID) == ("OK", account(BOB))
    assert [record.transactionID for record in response.records] == [
        each.transactionID for each in bodies[:2]
    ]


def test_the_flag_high_volume_costs_four_times_as_much(submit, done, ask):
    plain, flagged = creation(key=ED25519), creation(key=ED25519)
    flagged.high_volume = True
    row = done(flagged, ALICE)
    assert row["charged_tx_fee"] == 4 * done(plain, ALICE)["charged_tx_fee"]
    assert (row["high_volume"], row["high_volume_pricing_multiplier"]) == (True, 4000)
    asked = {"payment": hapi.payment(ALICE), "transactionID": flagged.transactionID}
    response, _ = ask("transactionGetRecord", **asked)
    assert response.transactionRecord.high_volume_pricing_multiplier == 4000
    # A node does not look at it: who offers too little is refused at consensus, and pays the network alone.
    flagged.transactionFee = row["charged_tx_fee"] - 1
    refused = submit(flagged, ALICE)
    assert (refused.result, refused.reached_consensus) == ("INSUFFICIENT_TX_FEE", True)
    asked = {"payment": hapi.payment(BOB), "transactionID": flagged.transactionID}
    response, _ = ask("transactionGetRecord", **asked)
    assert response.transactionRecord.transactionFee == 100_000
    # It does nothing for a transaction that creates nothing.
    paid = transfer(ALICE, {ALICE: -1, BOB: 1})
    paid.high_volume = True
    assert done(paid, ALICE)["charged_tx_fee"] == 100_000
