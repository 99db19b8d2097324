"""How much one transaction may hold, and what several NFTs cost together, as HAPI answers it."""

import pytest
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum

from hiero_sandbox.messages import account
from sandbox.tests import hapi
from sandbox.tests.bodies import (
    FIRST,
    HBAR,
    MINTED_AT,
    amounts,
    id_of,
    make,
    minting,
    seal,
    sign,
    token_id,
    transfer,
)
from sandbox.tests.hapi import APPROVE, RECEIPTS
from sandbox.tests.people import ALICE, BOB, CHARLIE, TOKEN

TRANSFER = "/proto.CryptoService/cryptoTransfer"
DELETE = "/proto.CryptoService/deleteAllowances"
MINT = "/proto.TokenService/mintToken"
TREASURY, MARKET = "0.0.1000", "0.0.9001"
ROYAL = "0.0.5001"  # 5 % for one collector
TWENTY = range(1, 21)


@pytest.fixture
def results(call, ask):
    """Submit a transaction to the node; returns its result."""

    def result(body, *signers, path=TRANSFER):
        assert hapi.precheck(call(path, sign(body, *signers))) == "OK"
        response, _ = ask("transactionGetReceipt", RECEIPTS, transactionID=body.transactionID)
        return ResponseCodeEnum.Name(response.receipt.status)

    return result


@pytest.fixture
def many(ledger):
    """Alice has 21 NFTs of one token, and Bob has 10."""
    for serial_no in range(1, 22):
        ledger.mint((TOKEN, serial_no), ALICE, MINTED_AT)
    for serial_no in range(31, 41):
        ledger.mint((TOKEN, serial_no), BOB, MINTED_AT)


def approving(*serial_nos, kind="cryptoApproveAllowance"):
    entry = {"owner": account(ALICE), "serial_numbers": serial_nos}
    if kind == "cryptoApproveAllowance":
        entry |= {"spender": account(MARKET), "tokenId": token_id((TOKEN, 0))}
    else:
        entry |= {"token_id": token_id((TOKEN, 0))}
    return make(ALICE, kind, nftAllowances=[entry])


def withdrawing(*serial_nos):
    return approving(*serial_nos, kind="cryptoDeleteAllowance")


def test_twenty_nfts_are_approved_in_one_transaction_that_costs_five_cents(
    results, many, balance, get
):
    assert results(approving(*TWENTY), ALICE, path=APPROVE) == "SUCCESS"
    assert balance(ALICE) == FIRST - HBAR // 2
    spenders = [get(f"/tokens/{TOKEN}/nfts/{serial_no}")["spender"] for serial_no in TWENTY]
    assert spenders == [MARKET] * 20
    assert results(withdrawing(*TWENTY), ALICE, path=DELETE) == "SUCCESS"
    assert balance(ALICE) == FIRST - HBAR


def test_twenty_one_are_too_many(results, many, get):
    approved, ended = approving(*TWENTY, 21), withdrawing(*TWENTY, 21)
    assert results(approved, ALICE, path=APPROVE) == "MAX_ALLOWANCES_EXCEEDED"
    assert results(ended, ALICE, path=DELETE) == "MAX_ALLOWANCES_EXCEEDED"
    assert get(f"/tokens/{TOKEN}/nfts/1")["spender"] is None


def test_each_entry_of_a_transaction_is_charged(results, many, balance):
    body = approving(1, 2, 3)
    body.cryptoApproveAllowance.nftAllowances.extend(
        approving(4, 5).cryptoApproveAllowance.nftAllowances
    )
    assert results(body, ALICE, path=APPROVE) == "SUCCESS"
    assert balance(ALICE) == FIRST - HBAR


def test_an_owner_has_a_hundred_allowances(results, many):
    """Those of single NFTs do not count, nor those that were ended (validateAllowanceLimit)."""

    def allowing(*spenders, amount=1):
        entries = [
            {"owner": account(ALICE), "spender": account(each), "amount": amount}
            for each in spenders
        ]
        body = make(ALICE, "cryptoApproveAllowance", cryptoAllowances=entries)
        body.transactionFee *= len(spenders)
        return body

    def for_all(spender):
        entry = {"owner": account(ALICE), "spender": account(spender)}
        entry |= {"tokenId": token_id((TOKEN, 0)), "approved_for_all": {"value": True}}
        return make(ALICE, "cryptoApproveAllowance", nftAllowances=[entry])

    for first in range(3000, 3100, 20):
        spenders = [f"0.0.{number}" for number in range(first, first + 20)]
        assert results(allowing(*spenders), ALICE, path=APPROVE) == "SUCCESS"
    for one_more in (allowing("0.0.3100"), for_all("0.0.3100")):
        assert results(one_more, ALICE, path=APPROVE) == "MAX_ALLOWANCES_EXCEEDED"
    assert results(approving(1), ALICE, path=APPROVE) == "SUCCESS"
    assert results(allowing("0.0.3000", amount=2), ALICE, path=APPROVE) == "SUCCESS"
    assert results(allowing("0.0.3000", amount=0), ALICE, path=APPROVE) == "SUCCESS"
    assert results(for_all("0.0.3100"), ALICE, path=APPROVE) == "SUCCESS"


def moved(*serial_nos):
    return [((TOKEN, serial_no), ALICE, CHARLIE) for serial_no in serial_nos]


def units(count):
    changes = amounts((ALICE, -count), *((f"0.0.{3000 + number}", 1) for number in range(count)))
    entry = {"token": token_id((TOKEN, 0)), "transfers": changes}
    return make(ALICE, "cryptoTransfer", tokenTransfers=[entry])


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (lambda: transfer(ALICE, nfts=moved(*range(1, 12))), "BATCH_SIZE_LIMIT_EXCEEDED"),
        (
            lambda: transfer(ALICE, {ALICE: -10} | {f"0.0.{3000 + n}": 1 for n in range(10)}),
            "TRANSFER_LIST_SIZE_LIMIT_EXCEEDED",
        ),
        (lambda: units(10), "TOKEN_TRANSFER_LIST_SIZE_LIMIT_EXCEEDED"),
    ],
)
def test_transfers_of_too_many(results, many, body, result):
    assert results(body(), ALICE) == result


def test_ten_nfts_and_ten_amounts_are_not_too_many(results, many, balance, get):
    buyer, others = CHARLIE, [f"0.0.{3000 + number}" for number in range(8)]
    hbar = {buyer: -9 * HBAR, ALICE: HBAR} | dict.fromkeys(others, HBAR)
    body = transfer(MARKET, hbar, moved(*range(1, 11)))
    assert results(body, MARKET, ALICE, buyer) == "SUCCESS"
    assert get(f"/tokens/{TOKEN}/nfts/10")["account_id"] == buyer
    # 0.01 for all NFTs, 0.001 for each of two more signatures and eight more accounts, and an association.
    assert FIRST - balance(MARKET) == HBAR // 100 + 10 * HBAR // 1000 + HBAR // 2


def test_ten_are_minted_at_once(results):
    ten = minting(TREASURY, TOKEN, *[b"x"] * 10)
    ten.transactionFee = 100 * HBAR
    assert results(ten, TREASURY, path=MINT) == "SUCCESS"
    eleven = minting(TREASURY, TOKEN, *[b"x"] * 11)
    eleven.transactionFee = 100 * HBAR
    assert results(eleven, TREASURY, path=MINT) == "BATCH_SIZE_LIMIT_EXCEEDED"


# Royalties of a basket


@pytest.fixture
def royal(ledger):
    """NFTs with a royalty: two of Alice's, one of Bob's."""
    for serial_no, owner in ((1, ALICE), (2, ALICE), (3, BOB)):
        ledger.mint((ROYAL, serial_no), owner, MINTED_AT)


def test_a_royalty_is_taken_once_from_each_sellers_total_credit(results, royal, get):
    nfts = [((ROYAL, n), owner, CHARLIE) for n, owner in ((1, ALICE), (2, ALICE), (3, BOB))]
    body = transfer(MARKET, {CHARLIE: -700, ALICE: 500, BOB: 200}, nfts)
    assert results(body, MARKET, CHARLIE, ALICE, BOB) == "SUCCESS"
    [shown] = get(f"/transactions/{id_of(seal(body)).dashed}")["transactions"]
    fees = shown["assessed_custom_fees"]
    assert [(fee["effective_payer_account_ids"], fee["amount"]) for fee in fees] == [
        ([ALICE], 25),
        ([BOB], 10),
    ]


def test_balance_changes_are_twenty_with_all_custom_fees(results, many, royal):
    """Ten NFTs, nine accounts and one collector are twenty."""

    def basket(others):
        accounts = [f"0.0.{3000 + number}" for number in range(others)]
        hbar = {CHARLIE: -1000, ALICE: 1000 - others} | dict.fromkeys(accounts, 1)
        return transfer(MARKET, hbar, [*moved(*range(1, 10)), ((ROYAL, 1), ALICE, CHARLIE)])

    signers = (MARKET, CHARLIE, ALICE)
    result = results(basket(8), *signers)
    assert result == "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS"
    assert results(basket(7), *signers) == "SUCCESS"
