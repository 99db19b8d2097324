"""The rule of an offer, case by case: facts of the ledger in, an offer out, or none."""

import base64
import json

import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, KeyList
from hypothesis import given
from hypothesis import strategies as st

from harness.cast import ALICE, BOB, CHARLIE, MARKET, TOKEN
from marketplace.hedera.ids import TransactionId
from marketplace.ledger.objects import LedgerKey, Schedule, ScheduleSignature, Transaction
from marketplace.market.listing_rule import Undecided
from marketplace.market.memos import offer_memo
from marketplace.market.offers.rule import (
    LIFE,
    Offer,
    OfferFacts,
    Shop,
    decide,
    read_sale,
)
from tests.market.tampered import FILE, FORMS, MEMO, sale, tampered, transfers, write

SCHEDULE = "0.0.8001"
CREATED, SIGNED, LATER, EXECUTED, EXPIRES = 1000, 2000, 3000, 4000, 9000
SHOP = Shop(MARKET, basis_points=100)
ED25519, OTHER = bytes(range(32)), bytes(range(1, 33))
PLAIN = LedgerKey("ED25519", ED25519)
ID = TransactionId(BOB, 100, 5)


def schedule(body=None, signers=(), **fields):
    values = dict(
        id=SCHEDULE, creator=BOB, payer=BOB, created_at=CREATED, expires_at=EXPIRES, memo=MEMO
    )
    values["body"] = sale().build().SerializeToString() if body is None else body
    values["signatures"] = tuple(
        ScheduleSignature(*each) for each in ((CREATED, ED25519), *signers)
    )
    return Schedule(**values | fields)


def row(consensus_at, **fields):
    values = dict(name="SCHEDULESIGN", transaction_id=TransactionId(BOB, 200, consensus_at))
    values |= dict(result="SUCCESS", entity_id=SCHEDULE, consensus_at=consensus_at)
    return Transaction(**values | fields)


CREATION = row(CREATED, name="SCHEDULECREATE", transaction_id=ID, memo=MEMO.encode())


def facts(
    schedule=None,
    *rows,
    created=CREATION,
    then=PLAIN,
    key=PLAIN,
    shown_to=LATER,
    changed_at=0,
    since=0,
):
    """Facts in which Bob has the key that created the schedule, unless they say otherwise."""
    rows = {each.consensus_at: each for each in (created, *rows)}
    schedule = schedule or globals()["schedule"]()
    return OfferFacts(schedule, then, key, rows, shown_to, changed_at, since)


# Not an offer: each part of the schedule tampered in turn. clients/market reads the same cases


CASES = json.loads(FILE.read_text())["cases"]
TAMPERED = {
    each["case"]: schedule(
        **each["schedule"] | {"body": base64.b64decode(each["schedule"]["body"])}
    )
    for each in CASES
    if each["order"] == "offer" and not each["isRight"]
}


def test_the_cases_are_those_of_their_module():
    """.venv/bin/python -m tests.market.tampered"""
    assert FILE.read_text() == write()


@pytest.mark.parametrize("case", TAMPERED)
def test_a_schedule_that_was_tampered_with_is_no_offer(case):
    assert read_sale(TAMPERED[case], SHOP) is None
    assert decide(facts(TAMPERED[case]), SHOP) is None


@pytest.mark.parametrize("memo", [b"", b"hello", offer_memo(TOKEN, 7, 251, "Foo").encode()])
def test_a_creation_with_another_memo_makes_no_offer(memo):
    """Its memo is how offers are found."""
    assert decide(facts(created=CREATION._replace(memo=memo)), SHOP) is None


@pytest.mark.parametrize("form", FORMS)
def test_a_schedule_with_the_form_of_an_offer_is_one(form):
    offered = sale(**FORMS[form])
    assert read_sale(schedule(offered.build().SerializeToString()), SHOP) == offered


def test_the_accounts_may_be_in_any_order():
    assert read_sale(schedule(tampered(lambda body: transfers(body).reverse())), SHOP) == sale()


def test_without_a_sale_fee_an_offer_may_pay_the_marketplace_nothing():
    there = schedule(sale(part_tinybars=0).build().SerializeToString())
    assert read_sale(there, SHOP) is None
    assert read_sale(there, Shop(MARKET, 0)) == sale(part_tinybars=0)


def test_a_schedule_without_an_expiry_lives_for_half_an_hour():
    """An SDK that rebuilds a ScheduleCreate loses its expiration_time."""
    there = schedule(expires_at=None)
    assert decide(facts(there), SHOP).expires_at == CREATED + LIFE
    assert decide(facts(there, shown_to=CREATED + LIFE), SHOP).state == "expired"


def test_zeros_that_javascript_writes_make_no_difference():
    """Some encoders write fields that are zero, such as the shard."""
    from marketplace.hedera.transactions import encode

    assert read_sale(schedule(encode(sale().build())), SHOP) == sale()


@given(
    st.builds(
        sale,
        serial_no=st.integers(1, 2**63 - 1),
        price=st.integers(1, 50_000_000_000),
        part_tinybars=st.just(0),
    )
)
def test_every_price_and_serial_number_is_read_as_it_was_written(offered):
    memo = offer_memo(TOKEN, offered.serial_no, offered.price, "Foo")
    offered = offered._replace(memo=memo)
    there = schedule(offered.build().SerializeToString(), memo=memo)
    assert read_sale(there, Shop(MARKET, 0)) == offered


# The state of an offer


def list_of(*keys):
    return Key(keyList=KeyList(keys=keys))


def encoded(key):
    return LedgerKey("ProtobufEncoded", key.SerializeToString())


ONE, TWO = Key(ed25519=ED25519), Key(ed25519=OTHER)
NEW, BOTH = LedgerKey("ED25519", OTHER), encoded(list_of(ONE, TWO))
RUN = row(EXECUTED, name="CRYPTOTRANSFER", transaction_id=ID, scheduled=True, entity_id=None)
UPDATE = row(LATER, name="CRYPTOUPDATEACCOUNT", entity_id=BOB)
STATES = {
    "the key is that of the creation": (facts(), "open"),
    "it is a list": (facts(then=BOTH, key=BOTH), "open"),
    "all signatures at the creation have a short prefix": (
        facts(schedule()._replace(signatures=(ScheduleSignature(CREATED, ED25519[:6]),))), "open"),
    "a false signature of another key stands beside it": (
        facts(schedule(signers=((CREATED, OTHER),))), "open"),
    "the account got the key of the false signature": (
        facts(schedule(signers=((CREATED, OTHER),)), key=NEW), "closed"),
    "others have signed it": (facts(schedule(signers=((SIGNED, OTHER),)), row(SIGNED)), "open"),
    "the key is another one": (facts(key=NEW), "closed"),
    "the key is a list with that of the creation": (facts(key=BOTH), "closed"),
    "the account was deleted": (facts(key=None), "closed"),
    "the key is another one, and has signed": (
        facts(schedule(signers=((SIGNED, OTHER),)), row(SIGNED), key=NEW), "closed"),
    "the key is another one, a moment after a change": (
        facts(None, UPDATE, key=NEW, shown_to=SIGNED, changed_at=LATER), "closed"),
    "the key is another one, or one from before the creation": (
        facts(key=NEW, shown_to=CREATED - 1), None),
    "the key was changed back a moment ago": (facts(None, UPDATE, shown_to=SIGNED, changed_at=LATER), None),
    "the key was changed back": (facts(None, UPDATE, shown_to=LATER, changed_at=LATER), "open"),
    "a change is not shown yet": (facts(shown_to=SIGNED, changed_at=LATER), None),
    "the newest change is a signature, which is shown": (
        facts(schedule(signers=((LATER, OTHER),)), row(LATER), shown_to=SIGNED, changed_at=LATER), "open"),
    "after a change that is not shown yet, others have signed it": (
        facts(schedule(signers=((LATER, OTHER),)), row(LATER), shown_to=CREATED, changed_at=SIGNED), None),
    "after a change that is not shown yet, its owner has signed it": (
        facts(schedule(signers=((LATER, OTHER),)), row(LATER), shown_to=CREATED, changed_at=LATER,
              since=SIGNED), None),
    "it was just created": (facts(shown_to=0, changed_at=CREATED), "open"),
    "the key at the creation is not shown": (facts(then=None), None),
    "its creation is not shown yet": (facts()._replace(transactions={}), None),
    "it was executed": (facts(schedule(executed_at=EXECUTED), RUN), "executed"),
    "it was executed, after which its expiry came": (
        facts(schedule(executed_at=EXECUTED), RUN, shown_to=EXPIRES), "executed"),
    "its execution failed": (
        facts(schedule(executed_at=EXECUTED), RUN._replace(result="INSUFFICIENT_ACCOUNT_BALANCE")), "failed"),
    "its execution is not shown yet": (facts(schedule(executed_at=EXECUTED)), None),
    "it was deleted": (facts(schedule(is_deleted=True)), "withdrawn"),
    "it has expired": (facts(schedule(), shown_to=EXPIRES), "expired"),
    "it has expired, but not for all replicas": (facts(schedule(), shown_to=EXPIRES - 1), "open"),
}  # fmt: skip


@pytest.mark.parametrize("case", STATES)
def test_every_case_has_its_state(case):
    given_facts, state = STATES[case]
    decided = decide(given_facts, SHOP)
    if state is None:
        assert isinstance(decided, Undecided)
    else:
        assert decided.state == state


def test_a_deletion_that_is_known_dates_the_withdrawal():
    deleted = row(LATER, name="SCHEDULEDELETE")
    decided = decide(facts(schedule(is_deleted=True), deleted, changed_at=LATER), SHOP)
    assert (decided.state, decided.state_at, decided.by) == ("withdrawn", LATER, deleted)


@pytest.mark.parametrize("key", [PLAIN, NEW])
def test_a_key_update_that_is_known_is_what_opened_or_closed_it(key):
    decided = decide(facts(None, UPDATE, key=key, changed_at=LATER), SHOP)
    assert decided.by == UPDATE
    assert decided.state_at == CREATED  # the schedule itself has not changed


@pytest.mark.parametrize(
    ("changes", "is_acceptance"),
    [
        ({}, True),
        ({"transaction_id": TransactionId(CHARLIE, 200, 1)}, False),
        ({"nonce": 1}, False),
        ({"entity_id": "0.0.8002"}, False),
        ({"name": "CRYPTOTRANSFER"}, False),
    ],
)
def test_the_owners_own_signature_that_executed_nothing_is_an_acceptance(changes, is_acceptance):
    signed = row(SIGNED, transaction_id=TransactionId(ALICE, 200, 1))._replace(**changes)
    decided = decide(facts(schedule(signers=((SIGNED, OTHER),)), signed, key=NEW), SHOP)
    assert (decided.accepted == signed) == is_acceptance


def test_an_offer_has_all_that_is_shown_of_it():
    there = schedule()
    assert decide(facts(), SHOP) == Offer(
        SCHEDULE, TOKEN, 7, ALICE, BOB, 250, ID, CREATED, EXPIRES, there.body, "open", CREATED, CREATION
    )  # fmt: skip
