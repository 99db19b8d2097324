"""Fungible tokens: their units are minted, moved, allowed to be spent, burned; fees and royalties in them."""

import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountAmount

from hiero_sandbox.messages import account
from sandbox.tests.bodies import HBAR, association, minting, rejection, transfer
from sandbox.tests.fungible_tokens import allow, move
from sandbox.tests.people import ALICE, BOB, CHARLIE
from sandbox.tests.tokens import ISSUER, TREASURY, about, creation, fixed, royalty


@pytest.fixture
def coin(created):
    """A token of a thousand units."""
    fields = {"tokenType": 0, "initialSupply": 1000, "decimals": 2, "maxSupply": 5000}
    return created(creation(**fields, supplyType=1), TREASURY, ISSUER)


@pytest.fixture
def units(get):
    """How many units of a token an account has."""

    def units(account_id, token):
        rows = get(f"/accounts/{account_id}/tokens")["tokens"]
        return {row["token_id"]: row["balance"] for row in rows}.get(token)

    return units


def test_it_works(done, coin, units, get):
    shown = get(f"/tokens/{coin}")
    assert (shown["type"], shown["decimals"], shown["total_supply"]) == (
        "FUNGIBLE_COMMON", "2", "1000",
    )  # fmt: skip
    row = done(move(TREASURY, coin, {TREASURY: -300, ALICE: 300}), TREASURY)
    assert [(moved["account"], moved["amount"]) for moved in row["token_transfers"]] == [
        (ALICE, 300),
        (TREASURY, -300),
    ]
    assert (units(TREASURY, coin), units(ALICE, coin)) == (700, 300)


def test_the_supply_changes(submit, coin, units, get):
    body = minting(TREASURY, coin)
    body.tokenMint.amount = 500
    assert submit(body, TREASURY).result == "INVALID_SIGNATURE"
    assert submit(body, TREASURY, ISSUER).result == "SUCCESS"
    submit(move(TREASURY, coin, {TREASURY: -300, ALICE: 300}), TREASURY)
    assert submit(about("tokenBurn", coin, amount=100), TREASURY, ISSUER).result == "SUCCESS"
    wipe = about("tokenWipe", coin, account_id=ALICE, amount=50)
    assert submit(wipe, TREASURY, ISSUER).result == "SUCCESS"
    assert (units(TREASURY, coin), units(ALICE, coin)) == (1100, 250)
    assert get(f"/tokens/{coin}")["total_supply"] == "1350"
    body.tokenMint.amount = 4000
    assert submit(body, TREASURY, ISSUER).result == "TOKEN_MAX_SUPPLY_REACHED"
    burn = about("tokenBurn", coin, amount=1101)
    assert submit(burn, TREASURY, ISSUER).result == "INSUFFICIENT_TOKEN_BALANCE"
    burn = about("tokenBurn", coin, amount=1351)  # more than there is
    assert submit(burn, TREASURY, ISSUER).result == "INVALID_TOKEN_BURN_AMOUNT"


@pytest.mark.parametrize(
    ("amounts", "result"),
    [
        ({TREASURY: -1, ALICE: 2}, "TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN"),
        ({TREASURY: -1001, ALICE: 1001}, "INSUFFICIENT_TOKEN_BALANCE"),
        ({ALICE: -1, TREASURY: 1}, "INSUFFICIENT_TOKEN_BALANCE"),
    ],
)
def test_transfers_are_refused(submit, coin, amounts, result):
    assert submit(move(TREASURY, coin, amounts), TREASURY, ALICE).result == result


def test_more_units_than_64_bits_hold_are_refused(submit, coin, units):
    assert submit(move(TREASURY, coin, {TREASURY: -300, ALICE: 300}), TREASURY).result == "SUCCESS"
    # The receiver comes first.
    body = move(TREASURY, coin, {ALICE: 2**63 - 1, TREASURY: -(2**63 - 1)})
    assert submit(body, TREASURY).result == "INSUFFICIENT_TOKEN_BALANCE"
    assert (units(TREASURY, coin), units(ALICE, coin)) == (700, 300)


def test_units_are_not_of_nfts(submit, coin, minted):
    body = move(TREASURY, minted[0], {TREASURY: -1, ALICE: 1})
    expected = "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"
    assert submit(body, TREASURY).result == expected
    wrong = move(TREASURY, coin, {TREASURY: -1, ALICE: 1})
    wrong.cryptoTransfer.tokenTransfers[0].expected_decimals.value = 3
    assert submit(wrong, TREASURY).result == "UNEXPECTED_TOKEN_DECIMALS"


def test_units_are_spent_by_allowance(submit, coin, units, get):
    assert submit(allow(TREASURY, BOB, 100, coin), TREASURY).result == "SUCCESS"
    [shown] = get(f"/accounts/{TREASURY}/allowances/tokens")["allowances"]
    assert (shown["amount"], shown["spender"], shown["token_id"]) == (100, BOB, coin)
    take = lambda amount: move(  # noqa: E731
        BOB, coin, {TREASURY: -amount, ALICE: amount}, is_approval=True
    )
    assert submit(take(101), BOB).result == "AMOUNT_EXCEEDS_ALLOWANCE"
    assert submit(take(60), BOB).result == "SUCCESS"
    assert submit(take(60), BOB).result == "AMOUNT_EXCEEDS_ALLOWANCE"
    assert submit(take(40), BOB).result == "SUCCESS"
    assert submit(take(1), BOB).result == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"
    assert units(ALICE, coin) == 100


def test_hbar_are_spent_by_allowance(submit, balance, get):
    assert submit(allow(ALICE, BOB, 10 * HBAR), ALICE).result == "SUCCESS"
    body = transfer(BOB, {CHARLIE: 7 * HBAR})
    taken = AccountAmount(accountID=account(ALICE), amount=-7 * HBAR, is_approval=True)
    body.cryptoTransfer.transfers.accountAmounts.append(taken)
    assert submit(body, BOB).result == "SUCCESS"
    assert balance(CHARLIE) == 10_007 * HBAR
    [shown] = get(f"/accounts/{ALICE}/allowances/crypto")["allowances"]
    assert (shown["amount"], shown["amount_granted"]) == (3 * HBAR, 10 * HBAR)
    assert submit(body, BOB).result == "AMOUNT_EXCEEDS_ALLOWANCE"


@pytest.mark.parametrize(
    ("amount", "spender", "result"),
    [
        (-1, BOB, "NEGATIVE_ALLOWANCE_AMOUNT"),
        (1, ALICE, "SPENDER_ACCOUNT_SAME_AS_OWNER"),
        (1, "0.0.0", "INVALID_ALLOWANCE_SPENDER_ID"),
    ],
)
def test_allowances_are_refused(submit, amount, spender, result):
    assert submit(allow(ALICE, spender, amount), ALICE).result == result


def test_an_allowance_of_units_is_of_a_holder(submit, coin, minted):
    assert submit(allow(ALICE, BOB, 1, coin), ALICE).result == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    assert submit(allow(ALICE, BOB, 1, minted[0]), ALICE).result == (
        "NFT_IN_FUNGIBLE_TOKEN_ALLOWANCES"
    )


def test_who_sends_units_pays_their_fixed_fee(submit, created, balance):
    fields = {"tokenType": 0, "initialSupply": 1000, "custom_fees": [fixed(HBAR, BOB)]}
    coin = created(creation(**fields), TREASURY, ISSUER)
    assert submit(move(TREASURY, coin, {TREASURY: -9, ALICE: 9}), TREASURY).result == "SUCCESS"
    before = balance(BOB)
    assert submit(move(ALICE, coin, {ALICE: -1, CHARLIE: 1}), ALICE).result == "SUCCESS"
    assert balance(BOB) - before == HBAR


def test_royalties_are_taken_of_units_too(submit, created, coin, units):
    token = created(creation(custom_fees=[royalty(BOB)]), TREASURY, ISSUER)
    submit(minting(TREASURY, token, b"x"), TREASURY, ISSUER)
    submit(transfer(TREASURY, nfts=[((token, 1), TREASURY, ALICE)]), TREASURY)
    submit(move(TREASURY, coin, {TREASURY: -500, CHARLIE: 500}), TREASURY)
    submit(association(BOB, coin), BOB)
    sale = move(CHARLIE, coin, {CHARLIE: -200, ALICE: 200}, nfts=[((token, 1), ALICE, CHARLIE)])
    assert submit(sale, CHARLIE, ALICE).result == "SUCCESS"
    assert (units(ALICE, coin), units(BOB, coin), units(CHARLIE, coin)) == (180, 20, 300)


def test_a_coin_has_no_royalties(submit):
    body = creation(tokenType=0, custom_fees=[royalty()])
    expected = "CUSTOM_ROYALTY_FEE_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE"
    assert submit(body, TREASURY, ISSUER).result == expected


def test_all_units_are_rejected_and_somebody_else_may_pay(submit, coin, units):
    submit(move(TREASURY, coin, {TREASURY: -300, ALICE: 300}), TREASURY)
    assert submit(rejection(BOB, coin, owner=ALICE), BOB).result == "INVALID_SIGNATURE"
    assert submit(rejection(BOB, coin, owner=ALICE), BOB, ALICE).result == "SUCCESS"
    assert (units(ALICE, coin), units(TREASURY, coin)) == (0, 1000)
    assert submit(rejection(ALICE, coin), ALICE).result == "INSUFFICIENT_TOKEN_BALANCE"
    assert submit(rejection(CHARLIE, coin), CHARLIE).result == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
