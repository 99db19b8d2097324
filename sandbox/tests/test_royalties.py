"""Custom fees of the sample collections: what a sale costs whom, and a transfer for which nothing is paid."""

import pytest

from hiero_sandbox.database import read
from hiero_sandbox.ledger.execution import AssessedFee, NftTransfer
from hiero_sandbox.ledger.fee_assessment import assess
from sandbox.tests.bodies import FIRST, HBAR, MINTED_AT, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE

TREASURY, PAYER = "0.0.1000", "0.0.9001"
ONE, TWO = ("0.0.5001", 1), ("0.0.5002", 1)  # with one collector, and with two and a fallback fee
TIDES, ORBITS, ORBITS_TOO = "0.0.2001", "0.0.2002", "0.0.2003"


@pytest.fixture(autouse=True)
def owned(client, ledger):
    for nft in (ONE, TWO, ("0.0.5002", 2)):
        ledger.mint(nft, ALICE, MINTED_AT)


def sell(nft, price, buyer=BOB, seller=ALICE):
    return transfer(PAYER, {buyer: -price, seller: price}, [(nft, seller, buyer)])


def changes(row):
    return {change["account"]: change["amount"] for change in row["transfers"]}


def test_a_royalty_is_the_sellers_to_pay(done, balance):
    shown = done(sell(ONE, 250 * HBAR), PAYER, ALICE, BOB)
    assert shown["assessed_custom_fees"] == [
        {
            "amount": 12_50000000,
            "collector_account_id": TIDES,
            "effective_payer_account_ids": [ALICE],
            "token_id": None,
        }
    ]
    fee = shown["charged_tx_fee"]
    assert changes(shown) == {
        "0.0.802": fee,
        ALICE: 237_50000000,
        BOB: -250 * HBAR,
        TIDES: 12_50000000,
        PAYER: -fee,
    }
    assert balance(TIDES) == FIRST + 12_50000000


def gift(nft, receiver=BOB, sender=ALICE):
    return transfer(sender, nfts=[(nft, sender, receiver)])


def test_where_nothing_is_paid_the_receiver_pays_the_fallback_fee_and_signs(
    submit, done, balance, get
):
    refused = submit(gift(TWO), ALICE)
    assert (refused.result, refused.reached_consensus) == ("INVALID_SIGNATURE", True)
    assert get("/tokens/0.0.5002/nfts/1")["account_id"] == ALICE
    shown = done(gift(TWO), ALICE, BOB)
    assert balance(BOB) == FIRST - 10 * HBAR
    assert balance(ORBITS) == FIRST + 10 * HBAR
    assert balance(ORBITS_TOO) == FIRST
    assert shown["assessed_custom_fees"][0]["effective_payer_account_ids"] == [BOB]


def test_without_a_fallback_fee_a_gift_needs_no_signature_of_the_receiver(done):
    assert "assessed_custom_fees" not in done(gift(ONE), ALICE)


def test_a_receiver_who_cannot_pay_the_fallback_fee_gets_nothing(submit, balance, get):
    rest = FIRST - 5 * HBAR
    submit(transfer(BOB, {BOB: -rest, CHARLIE: rest}), BOB)
    before = balance(BOB)
    refused = submit(gift(TWO), ALICE, BOB)
    assert refused.result == "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"
    assert balance(BOB) == before
    assert balance(ORBITS) == FIRST
    assert get("/tokens/0.0.5002/nfts/1")["account_id"] == ALICE


def nft(token, sender, receiver, serial_no=1):
    return NftTransfer(token, serial_no, sender, receiver)


@pytest.mark.parametrize(
    ("moved", "paid", "fees"),
    [
        ([nft("0.0.5003", ALICE, BOB)], {ALICE: 100}, []),
        ([nft("0.0.7001", ALICE, BOB)], {ALICE: 100}, []),
        # The treasury owes nothing, nor does anybody to whom it gives.
        ([nft("0.0.5002", TREASURY, BOB)], {TREASURY: 100}, []),
        ([nft("0.0.5002", TREASURY, BOB)], {}, []),
        ([nft("0.0.5002", ALICE, TREASURY)], {}, []),
        # A collector does not pay its own fee.
        ([nft("0.0.5001", TIDES, BOB)], {TIDES: 100}, []),
        ([nft("0.0.5002", ORBITS, BOB)], {ORBITS: 1000}, [AssessedFee(ORBITS, ORBITS_TOO, 25)]),
        ([nft("0.0.5002", ALICE, ORBITS)], {}, []),
        # Once per token, however many NFTs.
        (
            [nft("0.0.5001", ALICE, BOB), nft("0.0.5001", ALICE, BOB, 2)],
            {ALICE: 100},
            [AssessedFee(ALICE, TIDES, 5)],
        ),
        (
            [nft("0.0.5002", ALICE, BOB), nft("0.0.5002", ALICE, BOB, 2)],
            {},
            [AssessedFee(BOB, ORBITS, 10 * HBAR)],
        ),
        # The seller pays royalties for the NFT that is sold, not for one that is given away beside it.
        (
            [nft("0.0.5001", ALICE, BOB), nft("0.0.5002", ALICE, BOB)],
            {ALICE: 1000},
            [
                AssessedFee(ALICE, TIDES, 50),
                AssessedFee(ALICE, ORBITS, 50),
                AssessedFee(ALICE, ORBITS_TOO, 25),
            ],
        ),
        # An exchange without HBAR: whoever paid a fallback fee owes nothing for the NFTs they give.
        (
            [nft("0.0.5002", ALICE, BOB), nft("0.0.5002", BOB, ALICE, 2)],
            {},
            [AssessedFee(BOB, ORBITS, 10 * HBAR)],
        ),
        ([nft("0.0.5001", ALICE, BOB)], {ALICE: -100, BOB: 100}, []),
        (
            [nft("0.0.5001", ALICE, BOB)],
            {ALICE: 2**63 - 1},
            [AssessedFee(ALICE, TIDES, (2**63 - 1) // 20)],
        ),
    ],
)
def test_what_is_owed(ledger, moved, paid, fees):
    given = {(account_id, None): amount for account_id, amount in paid.items()}
    with ledger.sandbox.app_context():
        [assessment] = assess(read(), moved, given)
        assert [fee[:3] for fee in assessment.fees] == [fee[:3] for fee in fees]


def test_the_mirror_node_shows_them(get):
    fees = get("/tokens/0.0.5002")["custom_fees"]
    assert fees["fixed_fees"] == []
    assert fees["royalty_fees"] == [
        {
            "all_collectors_are_exempt": False,
            "amount": {"denominator": 100, "numerator": 5},
            "collector_account_id": ORBITS,
            "fallback_fee": {"amount": 10 * HBAR, "denominating_token_id": None},
        },
        {
            "all_collectors_are_exempt": False,
            "amount": {"denominator": 40, "numerator": 1},
            "collector_account_id": ORBITS_TOO,
            "fallback_fee": None,
        },
    ]
    assert len(get("/tokens/0.0.5001")["custom_fees"]["royalty_fees"]) == 1
    for token in ("0.0.5003", "0.0.7001"):
        assert get(f"/tokens/{token}")["custom_fees"]["royalty_fees"] == []
