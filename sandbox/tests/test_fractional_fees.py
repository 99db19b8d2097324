"""Fractional fees, and others in the units that are sent: HIP-18, HIP-573."""

from collections import Counter

import hypothesis
import pytest
from hypothesis import strategies as st

from sandbox.tests.accounts import update
from sandbox.tests.airdrops import about_pending, drop
from sandbox.tests.bodies import association, make, token_id, transfer
from sandbox.tests.fractional_fees import OTHER, fractional, in_own_units
from sandbox.tests.fungible_tokens import allow, move
from sandbox.tests.people import ALICE, BOB, CHARLIE
from sandbox.tests.tokens import COLLECTOR, ISSUER, TREASURY, creation

UNPAID = "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"


def coin_with(*fees):
    return creation(tokenType=0, initialSupply=10_000, custom_fees=fees)


@pytest.fixture
def coin(created, done):
    """Create a coin with fees, of which Alice has 1,000; Bob, Charlie and all collectors may have it."""

    def create(*fees):
        coin = created(coin_with(*fees), TREASURY, ISSUER, COLLECTOR, OTHER)
        for account_id in (ALICE, BOB, CHARLIE):
            done(association(account_id, coin), account_id)
        done(move(TREASURY, coin, {TREASURY: -1000, ALICE: 1000}), TREASURY)
        return coin

    return create


@pytest.fixture
def units(get):
    def find(coin):
        rows = get(f"/tokens/{coin}/balances")["balances"]
        return {row["account"]: row["balance"] for row in rows if row["account"] != TREASURY}

    return find


@pytest.mark.parametrize(
    ("fees", "amounts", "has"),
    [
        # The receiver of the units pays the fee from them.
        ([fractional()], {BOB: 100}, {BOB: 90, COLLECTOR: 10}),
        ([fractional()], {BOB: 100, CHARLIE: 51}, {BOB: 90, CHARLIE: 46, COLLECTOR: 15}),
        ([fractional()], {BOB: 9}, {BOB: 9, COLLECTOR: 0}),
        ([fractional((1, 3))], {BOB: 1, CHARLIE: 2}, {BOB: 0, CHARLIE: 2, COLLECTOR: 1}),
        # A least and a most amount, of all together.
        ([fractional(minimum_amount=20)], {BOB: 100}, {BOB: 80, COLLECTOR: 20}),
        ([fractional(maximum_amount=4)], {BOB: 100}, {BOB: 96, COLLECTOR: 4}),
        # Net of transfers, the sender pays it besides.
        ([fractional(net_of_transfers=True)], {BOB: 100}, {BOB: 100, ALICE: 890, COLLECTOR: 10}),
        ([fractional(net_of_transfers=True, minimum_amount=20)], {BOB: 1}, {ALICE: 979}),
        # A collector is exempt from its own fee, and from the others' if all collectors are exempt.
        ([fractional()], {COLLECTOR: 100}, {COLLECTOR: 100}),
        ([fractional()], {COLLECTOR: 100, BOB: 100}, {COLLECTOR: 110, BOB: 90}),
        ([fractional(), fractional((1, 20), OTHER)], {OTHER: 100}, {OTHER: 90, COLLECTOR: 10}),
        (
            [fractional(all_are_exempt=True), fractional((1, 20), OTHER, all_are_exempt=True)],
            {OTHER: 100},
            {OTHER: 100, COLLECTOR: 0},
        ),
        ([fractional()], {TREASURY: 100}, {COLLECTOR: 0}),
        # Two fees, of the same units.
        (
            [fractional(), fractional((1, 4), OTHER)],
            {BOB: 100},
            {BOB: 67, COLLECTOR: 8, OTHER: 25},
        ),
        # A fixed fee in units of the token is paid by the sender.
        ([in_own_units(7)], {BOB: 100}, {ALICE: 893, BOB: 100, COLLECTOR: 7}),
    ],
)
def test_who_pays_what(done, coin, units, fees, amounts, has):
    coin = coin(*fees)
    done(move(ALICE, coin, {ALICE: -sum(amounts.values())} | amounts), ALICE)
    held = units(coin)
    assert {account_id: held[account_id] for account_id in has} == has
    assert sum(held.values()) == 1000 - amounts.get(TREASURY, 0)


def test_a_transfer_shows_its_fee(done, coin):
    token = coin(fractional())
    row = done(move(ALICE, token, {ALICE: -30, BOB: 20, CHARLIE: 10}), ALICE)
    [fee] = row["assessed_custom_fees"]
    assert fee == {
        "amount": 3,
        "collector_account_id": COLLECTOR,
        "effective_payer_account_ids": [BOB, CHARLIE],
        "token_id": token,
    }
    amounts = {each["account"]: each["amount"] for each in row["token_transfers"]}
    assert amounts == {ALICE: -30, BOB: 18, CHARLIE: 9, COLLECTOR: 3}


def test_a_token_shows_its_fees(coin, get):
    token = coin(fractional((1, 20), minimum_amount=2, net_of_transfers=True), in_own_units(7))
    fees = get(f"/tokens/{token}")["custom_fees"]
    assert fees["fractional_fees"] == [
        {
            "all_collectors_are_exempt": False,
            "amount": {"denominator": 20, "numerator": 1},
            "collector_account_id": COLLECTOR,
            "denominating_token_id": token,
            "maximum": None,
            "minimum": 2,
            "net_of_transfers": True,
        }
    ]
    assert fees["fixed_fees"][0]["denominating_token_id"] == token


@pytest.mark.parametrize(
    ("fee", "amount", "result"),
    [
        (fractional(minimum_amount=20), 10, UNPAID),
        (fractional(net_of_transfers=True), 1000, UNPAID),
        (in_own_units(7), 1000, UNPAID),
        (fractional((2**63 - 1, 1)), 2, "CUSTOM_FEE_OUTSIDE_NUMERIC_RANGE"),
    ],
)
def test_a_fee_that_cannot_be_paid(submit, coin, units, fee, amount, result):
    token = coin(fee)
    assert submit(move(ALICE, token, {ALICE: -amount, BOB: amount}), ALICE).result == result
    assert units(token)[ALICE] == 1000


def test_no_fee_is_more_than_all_that_is_sent(submit, coin, units):
    token = coin(fractional((3, 2)))
    assert submit(move(ALICE, token, {ALICE: -10, BOB: 10}), ALICE).result == "SUCCESS"
    assert units(token) == {ALICE: 990, BOB: 0, CHARLIE: 0, COLLECTOR: 10}


def test_two_who_send_pay_in_proportion(done, coin, units):
    token = coin(fractional())
    done(move(TREASURY, token, {TREASURY: -1000, BOB: 1000}), TREASURY)
    body = move(ALICE, token, {ALICE: -100, BOB: -300, CHARLIE: 400})
    [first, second] = done(body, ALICE, BOB)["assessed_custom_fees"]
    assert (first["amount"], second["amount"]) == (10, 30)
    assert units(token) == {ALICE: 900, BOB: 700, CHARLIE: 360, COLLECTOR: 40}


def test_an_allowance_covers_the_fee(submit, done, coin, units):
    token = coin(fractional(net_of_transfers=True))
    done(allow(ALICE, BOB, 109, token), ALICE)
    body = move(BOB, token, {ALICE: -100, CHARLIE: 100}, is_approval=True)
    assert submit(body, BOB).result == "AMOUNT_EXCEEDS_ALLOWANCE"
    done(allow(ALICE, BOB, 110, token), ALICE)
    done(move(BOB, token, {ALICE: -100, CHARLIE: 100}, is_approval=True), BOB)
    assert units(token)[COLLECTOR] == 10


def test_an_airdrop_is_less_its_fee(done, coin, units, get):
    token = coin(fractional())
    done(update(BOB, receiverSigRequiredWrapper={"value": True}), ALICE, BOB)
    done(drop(ALICE, token, {BOB: 100, CHARLIE: 50}), ALICE)
    [pending] = get(f"/accounts/{BOB}/airdrops/pending")["airdrops"]
    assert pending["amount"] == 90
    assert units(token) == {ALICE: 940, BOB: 0, CHARLIE: 45, COLLECTOR: 15}
    done(about_pending("tokenClaimAirdrop", BOB, (ALICE, BOB, token)), BOB)
    assert units(token) == {ALICE: 850, BOB: 90, CHARLIE: 45, COLLECTOR: 15}


DIVIDES = "FRACTION_DIVIDES_BY_ZERO"
POSITIVE = "CUSTOM_FEE_MUST_BE_POSITIVE"
NO_COIN = "CUSTOM_FRACTIONAL_FEE_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"
NOT_FUNGIBLE = "CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON"


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (coin_with(fractional((1, 0))), DIVIDES),
        (coin_with(fractional((0, 1))), POSITIVE),
        (coin_with(fractional(minimum_amount=-1)), POSITIVE),
        (coin_with(fractional(maximum_amount=-1)), POSITIVE),
        (
            coin_with(fractional(minimum_amount=3, maximum_amount=2)),
            "FRACTIONAL_FEE_MAX_AMOUNT_LESS_THAN_MIN_AMOUNT",
        ),
        (creation(custom_fees=[fractional()]), NO_COIN),
        (creation(custom_fees=[in_own_units(1)]), NOT_FUNGIBLE),
    ],
)
def test_what_is_refused(submit, body, result):
    assert submit(body, TREASURY, ISSUER, COLLECTOR).result == result


@pytest.mark.parametrize("fee", [fractional(), in_own_units(1)])
def test_a_collector_of_units_signs(submit, done, fee):
    done(transfer(COLLECTOR, {COLLECTOR: -1, ALICE: 1}), COLLECTOR)  # so its key is known
    assert submit(coin_with(fee), TREASURY, ISSUER).result == "INVALID_SIGNATURE"
    assert submit(coin_with(fee), TREASURY, ISSUER, COLLECTOR).result == "SUCCESS"


def test_a_new_fee_of_a_token(submit, done, coin):
    def change(*fees):
        body = make(
            TREASURY, "token_fee_schedule_update", token_id=token_id((token, 0)), custom_fees=fees
        )
        return submit(body, TREASURY, ISSUER).result

    token = coin(fractional())
    assert change(fractional(collector="0.0.802002")) == "TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR"
    assert change(in_own_units(1)) == "INVALID_TOKEN_ID_IN_CUSTOM_FEES"
    assert change(fractional((1, 5), OTHER)) == "TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR"
    assert change(fractional((1, 5))) == "SUCCESS"


PEOPLE = (ALICE, BOB, CHARLIE)
collectors = st.sampled_from((COLLECTOR, OTHER, ALICE))
fees_of_units = st.one_of(
    st.builds(in_own_units, st.integers(1, 20), collectors),
    st.builds(
        fractional,
        st.tuples(st.integers(1, 9), st.integers(10, 20)),
        collectors,
        all_are_exempt=st.booleans(),
        minimum_amount=st.integers(0, 9),
        maximum_amount=st.integers(9, 60) | st.just(0),
        net_of_transfers=st.booleans(),
    ),
)
people, receivers = st.sampled_from(PEOPLE), st.sampled_from((TREASURY, *PEOPLE, COLLECTOR))
payments = st.tuples(people, people, st.dictionaries(receivers, st.integers(1, 80), min_size=1))


def shared(first, second, amounts):
    """A payment of which the second sender pays a third."""
    total, changes = sum(amounts.values()), Counter(amounts)
    changes.update({first: total // 3 - total})
    changes.update({second: -(total // 3)})
    return {account_id: amount for account_id, amount in changes.items() if amount}


@hypothesis.given(
    st.lists(fees_of_units, min_size=1, max_size=3), st.lists(payments, min_size=1, max_size=5)
)
def test_random_fees_move_units_and_create_none(created, submit, get, row, fees, story):
    everybody = (*PEOPLE, COLLECTOR, OTHER)
    coin = created(coin_with(*fees), TREASURY, ISSUER, *everybody)
    gift = {TREASURY: -900} | dict.fromkeys(PEOPLE, 300)

    def held():
        rows = get(f"/tokens/{coin}/balances?limit=100")["balances"]
        return Counter({each["account"]: each["balance"] for each in rows})

    for amounts in filter(None, (gift, *(shared(*payment) for payment in story))):
        before = held()
        receipt = submit(move(TREASURY, coin, amounts), TREASURY, *everybody)
        assert amounts is not gift or receipt.result == "SUCCESS"
        after = held()
        assert after.total() == 10_000
        assert min(after.values()) >= 0
        moved = {account_id: after[account_id] - before[account_id] for account_id in after}
        recorded = {each["account"]: each["amount"] for each in row(receipt)["token_transfers"]}
        assert {who: amount for who, amount in moved.items() if amount} == recorded
