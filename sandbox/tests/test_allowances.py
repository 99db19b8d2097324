"""Approvals and transfers by approval: who may approve what, and in which order the network refuses."""

import pytest

from hiero_sandbox.messages import account
from sandbox.tests.accounts import update
from sandbox.tests.bodies import amounts, association, make, minting, token_id, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE
from sandbox.tests.tokens import COLLECTOR, ISSUER, KEY, TREASURY, about, creation, fixed, royalty

DELEGATE = "0.0.4003"


@pytest.fixture
def cats(created, submit):
    """A collection of two. Alice has the first."""
    token = created(creation(pause_key=KEY), TREASURY, ISSUER)
    submit(minting(TREASURY, token, b"one", b"two"), TREASURY, ISSUER)
    for account_id in (BOB, CHARLIE, DELEGATE):
        submit(transfer(account_id, {account_id: -1, ALICE: 1}), account_id)  # so its key is known
    assert (
        submit(transfer(TREASURY, nfts=[((token, 1), TREASURY, ALICE)]), TREASURY).result
        == "SUCCESS"
    )
    return token


@pytest.fixture
def coin(created):
    return created(creation(tokenType=0, initialSupply=100), TREASURY, ISSUER)


def nft_approval(payer, token, *serial_nos, owner=ALICE, spender=BOB, **fields):
    fields |= {"owner": account(owner), "spender": account(spender), "serial_numbers": serial_nos}
    fields["tokenId"] = token_id((token, 0))
    return make(payer, "cryptoApproveAllowance", nftAllowances=[fields])


def for_all(payer, token, value=True, **fields):
    return nft_approval(payer, token, approved_for_all={"value": value}, **fields)


def units(payer, token, changes, approved=()):
    listed = amounts(*changes)
    for each, (account_id, _) in zip(listed, changes, strict=True):
        each["is_approval"] = account_id in approved
    moved = {"token": token_id((token, 0)), "transfers": listed}
    return make(payer, "cryptoTransfer", tokenTransfers=[moved])


def test_serial_numbers_that_were_never_minted(submit, cats):
    body = nft_approval(ALICE, cats, 3)
    assert submit(body, ALICE).result == "INVALID_TOKEN_NFT_SERIAL_NUMBER"
    body = transfer(ALICE, nfts=[((cats, 3), ALICE, BOB)])
    assert submit(body, ALICE).result == "INVALID_NFT_ID"
    assert submit(nft_approval(ALICE, cats, 2), ALICE).result == "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"


def test_a_delegating_spender_approves_single_nfts(submit, cats, get):
    delegated = {"delegating_spender": account(DELEGATE)}
    body = nft_approval(DELEGATE, cats, 1, **delegated)
    assert submit(body, DELEGATE).result == "DELEGATING_SPENDER_DOES_NOT_HAVE_APPROVE_FOR_ALL"
    assert submit(for_all(ALICE, cats, spender=DELEGATE), ALICE).result == "SUCCESS"
    assert submit(body, DELEGATE).result == "SUCCESS"
    shown = get(f"/tokens/{cats}/nfts/1")
    assert (shown["spender"], shown["delegating_spender"]) == (BOB, DELEGATE)
    assert submit(nft_approval(BOB, cats, 1, **delegated), BOB).result == "INVALID_SIGNATURE"
    body = for_all(ALICE, cats, **delegated)
    assert submit(body, ALICE).result == "DELEGATING_SPENDER_CANNOT_GRANT_APPROVE_FOR_ALL"
    # A delegate can also remove approvals, but cannot remove its own.
    ended = {
        "owner": account(ALICE),
        "token_id": token_id((cats, 0)),
        "serial_numbers": [1],
    }
    body = make(DELEGATE, "cryptoDeleteAllowance", nftAllowances=[ended])
    assert submit(body, DELEGATE).result == "SUCCESS"
    shown = get(f"/tokens/{cats}/nfts/1")
    assert (shown["spender"], shown["delegating_spender"]) == (None, None)
    assert (
        submit(for_all(DELEGATE, cats, False, spender=DELEGATE, **delegated), DELEGATE).result
        == "SUCCESS"
    )
    assert get(f"/accounts/{ALICE}/allowances/nfts")["allowances"] != []


def test_a_paused_token_is_approved_and_withdrawn(submit, cats):
    assert submit(about("token_pause", cats), TREASURY, ISSUER).result == "SUCCESS"
    assert submit(nft_approval(ALICE, cats, 1), ALICE).result == "SUCCESS"
    ended = {"token_id": token_id((cats, 0)), "serial_numbers": [1]}
    body = make(ALICE, "cryptoDeleteAllowance", nftAllowances=[ended])
    assert submit(body, ALICE).result == "SUCCESS"
    body = transfer(ALICE, nfts=[((cats, 1), ALICE, BOB)])
    assert submit(body, ALICE).result == "TOKEN_IS_PAUSED"


def test_a_deleted_token_is_not_approved(submit, cats):
    submit(about("tokenDeletion", cats), TREASURY, ISSUER)
    assert submit(for_all(ALICE, cats), ALICE).result == "TOKEN_WAS_DELETED"


def test_units_are_not_approved_as_nfts(submit, coin):
    body = nft_approval(TREASURY, coin, 1, owner=TREASURY)
    assert submit(body, TREASURY).result == "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES"


def test_whoever_gets_units_is_looked_at_before_the_allowance(submit, coin):
    submit(update(BOB, max_automatic_token_associations={"value": 0}), ALICE, BOB)
    given = [(TREASURY, -1), (BOB, 1)]
    body = units(CHARLIE, coin, given, approved=[TREASURY])
    assert submit(body, CHARLIE).result == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    assert submit(association(BOB, coin), BOB).result == "SUCCESS"
    assert submit(body, CHARLIE).result == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"
    # Somebody who can't hold a token has approved nothing.
    body = units(CHARLIE, coin, [(BOB, -1), (TREASURY, 1)], approved=[BOB])
    assert submit(body, CHARLIE).result == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


def test_nfts_are_not_rejected_as_units(submit, cats):
    rejected = [{"fungible_token": token_id((cats, 0))}]
    body = make(ALICE, "tokenReject", rejections=rejected)
    only = "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"
    assert submit(body, ALICE).result == only
    submit(about("tokenFreeze", cats, account_id=ALICE), TREASURY, ISSUER)
    assert submit(body, ALICE).result == "ACCOUNT_FROZEN_FOR_TOKEN"


def test_custom_fees_are_paid_in_units_that_their_collector_may_have(submit, created, coin, cats):
    def refusal(*fees):
        return submit(creation(custom_fees=fees), TREASURY, ISSUER).result

    def in_units(token, fee):
        amount = fee.fixed_fee if fee.HasField("fixed_fee") else fee.royalty_fee.fallback_fee
        amount.denominating_token_id.CopyFrom(token_id((token, 0)))
        return fee

    submit(transfer(COLLECTOR, {COLLECTOR: -1, ALICE: 1}), COLLECTOR)  # so its key is known
    assert refusal(royalty(numerator=0)) == "CUSTOM_FEE_MUST_BE_POSITIVE"
    assert refusal(in_units(cats, fixed(1))) == "CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON"
    for fee in (fixed(1), royalty(fallback=1)):
        assert refusal(in_units(coin, fee)) == "TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR"
    submit(association(COLLECTOR, coin), COLLECTOR)
    token = created(creation(custom_fees=[in_units(coin, royalty(fallback=3))]), TREASURY, ISSUER)
    submit(minting(TREASURY, token, b"one"), TREASURY, ISSUER)
    submit(transfer(TREASURY, nfts=[((token, 1), TREASURY, ALICE)]), TREASURY)
    gift = transfer(ALICE, nfts=[((token, 1), ALICE, BOB)])
    unpaid = "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"
    assert submit(gift, ALICE, BOB).result in (unpaid, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    submit(units(TREASURY, coin, [(TREASURY, -3), (BOB, 3)]), TREASURY)
    assert submit(gift, ALICE, BOB).result == "SUCCESS"
