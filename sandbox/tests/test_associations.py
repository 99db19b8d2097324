"""Only associated accounts may hold a token: transfers associate them, or they do it themselves."""

import pytest

from sandbox.tests.bodies import FIRST, HBAR, MINTED_AT, NFT, association, give_new_id, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE, TOKEN
from sandbox.tests.tokens import ISSUER, KEY, TREASURY, about, creation

OTHERS = ("0.0.7002", "0.0.7003")
PAYER = "0.0.9001"


@pytest.fixture
def limit(ledger):
    """Say how many associations an account lets transfers make."""
    return lambda account_id, number: ledger.change_account(
        account_id, automatic_associations=number
    )


@pytest.fixture
def tokens(get):
    """An account's tokens: whether a transfer associated it, and how many it has."""

    def shown(account_id):
        rows = get(f"/accounts/{account_id}/tokens")["tokens"]
        return {row["token_id"]: (row["automatic_association"], row["balance"]) for row in rows}

    return shown


def give(nft=NFT, receiver=BOB):
    return transfer(PAYER, nfts=[(nft, ALICE, receiver)])


def test_an_owner_is_associated(minted, tokens, get):
    assert tokens(ALICE) == {TOKEN: (False, 1)}
    assert get(f"/accounts/{ALICE}")["balance"]["tokens"] == [{"balance": 1, "token_id": TOKEN}]


def test_a_transfer_associates_the_receiver_and_its_payer_pays(submit, minted, tokens, balance):
    assert submit(give(), PAYER, ALICE).result == "SUCCESS"
    assert tokens(BOB) == {TOKEN: (True, 1)}
    assert tokens(ALICE) == {TOKEN: (False, 0)}
    assert balance(PAYER) == FIRST - HBAR // 2 - HBAR // 100 - HBAR // 1000
    assert balance(BOB) == FIRST


def test_what_it_costs_is_beyond_the_most_that_the_payer_set(done, minted):
    body = give()
    body.transactionFee = HBAR // 100 + HBAR // 1000
    shown = done(body, PAYER, ALICE)
    assert shown["charged_tx_fee"] == int(shown["max_fee"]) + HBAR // 2


def test_a_payer_without_the_fee_of_an_association_pays_the_rest(submit, minted, tokens, balance):
    rest = FIRST - HBAR // 10
    submit(transfer(PAYER, {PAYER: -rest, CHARLIE: rest}), PAYER)
    before = balance(PAYER)
    refused = submit(give(), PAYER, ALICE)
    assert (refused.result, refused.reached_consensus) == ("INSUFFICIENT_PAYER_BALANCE", True)
    assert tokens(BOB) == {}
    assert balance(PAYER) == before - HBAR // 100 - HBAR // 1000


def test_automatic_association_can_be_off(submit, minted, limit, get, row, tokens):
    limit(BOB, 0)
    assert get(f"/accounts/{BOB}")["max_automatic_token_associations"] == 0
    receipt = submit(give(), PAYER, ALICE)
    assert receipt.result == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    assert row(receipt)["charged_tx_fee"] == HBAR // 100 + HBAR // 1000
    assert get(f"/tokens/{TOKEN}/nfts/7")["account_id"] == ALICE
    assert submit(association(BOB, TOKEN), BOB).result == "SUCCESS"
    assert tokens(BOB) == {TOKEN: (False, 0)}
    assert submit(give(), PAYER, ALICE).result == "SUCCESS"


def test_a_number_of_them_can_be_the_limit(submit, ledger, limit, tokens):
    nfts = [(token, 1) for token in (TOKEN, *OTHERS)]
    for nft in nfts:
        ledger.mint(nft, ALICE, MINTED_AT)
    limit(BOB, 1)
    results = [submit(give(nft), PAYER, ALICE).result for nft in nfts[:2]]
    assert results == ["SUCCESS", "NO_REMAINING_AUTOMATIC_ASSOCIATIONS"]
    # An association of the account's own does not count. Dissociating makes room.
    assert submit(association(BOB, OTHERS[1]), BOB).result == "SUCCESS"
    assert submit(give(nfts[2]), PAYER, ALICE).result == "SUCCESS"
    assert submit(give(nfts[1]), PAYER, ALICE).result == "NO_REMAINING_AUTOMATIC_ASSOCIATIONS"
    assert submit(transfer(BOB, nfts=[(nfts[0], BOB, ALICE)]), BOB).result == "SUCCESS"
    assert submit(association(BOB, TOKEN, kind="tokenDissociate"), BOB).result == "SUCCESS"
    assert submit(give(nfts[1]), PAYER, ALICE).result == "SUCCESS"
    assert tokens(BOB) == {OTHERS[0]: (True, 1), OTHERS[1]: (False, 1)}


@pytest.mark.parametrize(
    ("kind", "body", "signer", "result"),
    [
        ("tokenAssociate", (ALICE, TOKEN), ALICE, "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT"),
        ("tokenDissociate", (ALICE, TOKEN), ALICE, "ACCOUNT_STILL_OWNS_NFTS"),
        ("tokenDissociate", (BOB, TOKEN), BOB, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        ("tokenDissociate", ("0.0.1000", TOKEN), "0.0.1000", "ACCOUNT_IS_TREASURY"),
    ],
)
def test_what_is_refused(submit, minted, row, kind, body, signer, result):
    receipt = submit(association(*body, kind=kind), signer)
    assert (receipt.result, receipt.reached_consensus) == (result, True)
    assert row(receipt)["charged_tx_fee"] == HBAR // 2


def test_an_account_associates_itself_and_no_other(submit, minted, tokens):
    body = association(BOB, TOKEN)
    give_new_id(body, ALICE)
    assert submit(body, ALICE).result == "INVALID_SIGNATURE"
    assert tokens(BOB) == {}


def test_of_a_deleted_token_one_may_let_go(ledger, submit, minted, tokens):
    ledger.delete_token(TOKEN)
    assert submit(association(BOB, TOKEN), BOB).result == "TOKEN_WAS_DELETED"
    assert submit(association(ALICE, TOKEN, kind="tokenDissociate"), ALICE).result == "SUCCESS"
    assert tokens(ALICE) == {}


def test_without_kyc_one_may_let_go_and_frozen_not(submit, created):
    keys = {"kycKey": KEY, "freezeKey": KEY}
    token = created(creation(**keys), TREASURY, ISSUER)
    for kind, result in (("tokenFreeze", "ACCOUNT_FROZEN_FOR_TOKEN"), ("tokenUnfreeze", "SUCCESS")):
        submit(association(BOB, token), BOB)
        assert submit(about(kind, token, account_id=BOB), TREASURY, ISSUER).result == "SUCCESS"
        assert submit(association(BOB, token, kind="tokenDissociate"), BOB).result == result


def test_the_list_is_paged_and_filtered(submit, follow, get):
    submit(association(BOB, "0.0.7010", "0.0.709", "0.0.71"), BOB)
    rows = follow(f"/accounts/{BOB}/tokens?limit=2", "tokens")
    assert [row["token_id"] for row in rows] == ["0.0.71", "0.0.709", "0.0.7010"]
    assert get(f"/accounts/{BOB}/tokens?token.id=0.0.709")["tokens"] == rows[1:2]
    assert get(f"/accounts/{BOB}/tokens?token.id=0.0.5")["tokens"] == []
