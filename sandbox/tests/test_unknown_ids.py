"""What nobody has made does not exist, unless every id does: each transaction and path says so in its way."""

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

from hiero_sandbox.hapi.services import answer
from hiero_sandbox.messages import account
from sandbox.tests import bodies, hapi
from sandbox.tests.batches import BATCHER, batch, inner
from sandbox.tests.bodies import association, make, rejection, token_id, transfer
from sandbox.tests.tokens import ISSUER, creation, royalty

OPERATOR, NOBODY, TOKEN = "0.0.2", "0.0.77777", "0.0.88888"
ABOUT = {"token": token_id((TOKEN, 0))}
STAKING = {
    "key": Key(ed25519=bytes(32)),
    "autoRenewPeriod": {"seconds": 7_776_000},
    "staked_account_id": account(NOBODY),
}
HBAR_ALLOWANCE = {"spender": account(NOBODY), "amount": 1}


def create(**fields):
    """A creation that needs the operator's signature alone."""
    return creation(OPERATOR, names=["supplyKey"], treasury=account(OPERATOR), **fields)


def approved_transfer():
    """A transfer from NOBODY, by an approval that cannot be."""
    body = transfer(OPERATOR, {NOBODY: -1, OPERATOR: 1})
    body.cryptoTransfer.transfers.accountAmounts[0].is_approval = True
    return body


REFUSED = [
    (transfer(OPERATOR, {OPERATOR: -1, NOBODY: 1}), "INVALID_ACCOUNT_ID"),
    (approved_transfer(), "INVALID_ACCOUNT_ID"),
    (transfer(OPERATOR, nfts=[((TOKEN, 1), OPERATOR, "0.0.3")]), "INVALID_TOKEN_ID"),
    (transfer(OPERATOR, nfts=[((TOKEN, 1), NOBODY, OPERATOR)]), "INVALID_TOKEN_ID"),
    (rejection(OPERATOR, TOKEN, owner=NOBODY), "INVALID_OWNER_ID"),
    (association(OPERATOR, TOKEN), "INVALID_TOKEN_ID"),
    (association(OPERATOR, TOKEN, kind="tokenDissociate"), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
    (make(OPERATOR, "cryptoUpdateAccount", accountIDToUpdate=account(NOBODY)), "INVALID_ACCOUNT_ID"),
    (make(OPERATOR, "cryptoCreateAccount", **STAKING), "INVALID_STAKING_ID"),
    (creation(OPERATOR, treasury=account(NOBODY)), "INVALID_ACCOUNT_ID"),
    (create(custom_fees=[royalty(NOBODY)]), "INVALID_CUSTOM_FEE_COLLECTOR"),
    (create(autoRenewAccount=account(NOBODY)), "INVALID_AUTORENEW_ACCOUNT"),
    (bodies.approval(OPERATOR, (TOKEN, 1), spender="0.0.3"), "INVALID_TOKEN_ID"),
    (
        make(OPERATOR, "cryptoApproveAllowance", cryptoAllowances=[HBAR_ALLOWANCE]),
        "INVALID_ALLOWANCE_SPENDER_ID",
    ),
    (bodies.approval(OPERATOR, (TOKEN, 1), owner=NOBODY), "INVALID_ALLOWANCE_OWNER_ID"),
    (bodies.minting(OPERATOR, TOKEN, b"x"), "INVALID_TOKEN_ID"),
    (make(OPERATOR, "tokenFreeze", account=account(NOBODY), **ABOUT), "INVALID_TOKEN_ID"),
    (make(OPERATOR, "tokenDeletion", **ABOUT), "INVALID_TOKEN_ID"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "code"), REFUSED, ids=lambda value: str(value)[:40].split()[0])
def test_a_transaction_about_it_is_refused(alone, body, code):
    assert alone.submit(body, OPERATOR) == code
    assert alone.get("/transactions").json["transactions"][0]["result"] == code


def test_a_sender_who_does_not_exist_has_approved_nothing(alone):
    assert alone.submit(create(), OPERATOR, ISSUER) == "SUCCESS"
    [row] = alone.get("/tokens").json["tokens"]
    body = transfer(OPERATOR, nfts=[((row["token_id"], 1), NOBODY, OPERATOR, True)])
    assert alone.submit(body, OPERATOR) == "INVALID_ACCOUNT_ID"


def test_a_payer_who_does_not_exist_is_refused_before_consensus(alone):
    body = transfer(NOBODY, {NOBODY: -1, OPERATOR: 1})
    assert alone.submit(body, PrivateKey.generate_ed25519()) == "PAYER_ACCOUNT_NOT_FOUND"
    assert alone.get("/transactions").json["transactions"] == []


def test_a_batch_with_a_payer_who_does_not_exist_is_refused_too(alone):
    body = transfer(NOBODY, {NOBODY: -1, OPERATOR: 1})
    body = batch(inner(body, PrivateKey.generate_ed25519()), payer=OPERATOR)
    assert alone.submit(body, OPERATOR, BATCHER) == "PAYER_ACCOUNT_NOT_FOUND"
    assert alone.get("/transactions").json["transactions"] == []


@pytest.mark.parametrize(
    "path",
    [
        f"/accounts/{NOBODY}",
        f"/accounts/{NOBODY}/tokens",
        "/accounts/0x0000000000000000000000000000000000012fd1",
        f"/tokens/{TOKEN}",
        f"/tokens/{TOKEN}/nfts/1",
    ],
)
def test_the_mirror_node_does_not_find_it(alone, path):
    answer = alone.get(path)
    assert answer.status_code == 404
    assert "_status" in answer.json


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"/accounts/{NOBODY}/nfts", "nfts"),
        (f"/accounts/{NOBODY}/nfts?token.id={TOKEN}&serialnumber=1", "nfts"),
        (f"/accounts?account.id={NOBODY}", "accounts"),
        (f"/balances?account.id={NOBODY}", "balances"),
        (f"/tokens/{TOKEN}/nfts", "nfts"),
        (f"/tokens/{TOKEN}/balances", "balances"),
        (f"/tokens?token.id={TOKEN}", "tokens"),
    ],
)
def test_its_lists_are_empty(alone, path, name):
    answer = alone.get(path)
    assert (answer.status_code, answer.json[name]) == (200, [])


@pytest.mark.parametrize(
    ("query", "asked", "code"),
    [
        ("cryptoGetInfo", {"accountID": account(NOBODY)}, "INVALID_ACCOUNT_ID"),
        ("cryptogetAccountBalance", {"accountID": account(NOBODY)}, "INVALID_ACCOUNT_ID"),
        ("cryptogetAccountBalance", {"contractID": {"contractNum": 2}}, "INVALID_CONTRACT_ID"),
        ("tokenGetInfo", ABOUT, "INVALID_TOKEN_ID"),
        ("tokenGetNftInfo", {"nftID": hapi.nft_id(TOKEN, 1)}, "INVALID_NFT_ID"),
    ],
)
def test_a_node_does_not_find_it(alone, query, asked, code):
    with alone.app.app_context():
        [content] = answer(hapi.query(query, hapi.COST, **asked), 0)
    assert hapi.answer(content, query)[1] == code


def test_the_log_says_that_a_demos_account_has_another_key(submit, caplog):
    """It was INVALID_SIGNATURE alone, and nobody knew of the first key."""
    body, key = transfer("0.0.3003", {"0.0.3003": -1, "0.0.3004": 1}), PrivateKey.generate_ed25519()
    assert submit(body, PrivateKey.generate_ed25519()).result == "SUCCESS"
    assert submit(body, key).result == "INVALID_SIGNATURE"
    assert "0.0.3003 already has another key" in caplog.text
