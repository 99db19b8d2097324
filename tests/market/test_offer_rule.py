"""The rule of an offer, case by case: facts of the ledger in, an offer out, or none."""

import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountAmount,
    Key,
    KeyList,
    NftTransfer,
    TokenTransferList,
)
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)
from hypothesis import given
from hypothesis import strategies as st

from harness.cast import ALICE, BOB, CHARLIE, MARKET, TOKEN
from marketplace.hedera import messages
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.scheduled_sale import ScheduledSale
from marketplace.ledger.objects import LedgerKey, Schedule, ScheduleSignature, Transaction
from marketplace.market.listing.memos import offer_memo
from marketplace.market.listing_rule import Undecided
from marketplace.market.offers.rule import (
    LIFE,
    MAX_FEE_TINYBARS,
    Facts,
    Offer,
    Shop,
    decide,
    read_sale,
)

SCHEDULE = "0.0.8001"
CREATED, SIGNED, LATER, EXECUTED, EXPIRES = 1000, 2000, 3000, 4000, 9000
SHOP = Shop(MARKET, basis_points=100)
MEMO = offer_memo(TOKEN, 7, 250, "Foo")
ED25519, OTHER = bytes(range(32)), bytes(range(1, 33))
PLAIN = LedgerKey("ED25519", ED25519)
ID = TransactionId(BOB, 100, 5)


def sale(**fields):
    """What Bob offers: 250 HBAR for Alice's NFT, of which the marketplace gets a hundredth."""
    values = dict(token=TOKEN, serial_no=7, seller=ALICE, bidder=BOB, price=250, memo=MEMO)
    values |= dict(market=MARKET, part_tinybars=250_000_000, max_fee_tinybars=50_000_000)
    return ScheduledSale(**values | fields)


def tampered(change, **fields):
    """The scheduled transaction with one more change."""
    body = sale(**fields).build()
    change(body)
    return body.SerializeToString()


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
    return Facts(schedule, then, key, rows, shown_to, changed_at, since)


# Not an offer: each part of the schedule tampered in turn


def transfers(body):
    return body.cryptoTransfer.transfers.accountAmounts


def units(body):
    return body.cryptoTransfer.tokenTransfers


def nft(body):
    return units(body)[0].nftTransfers[0]


def amounts(**changes):
    """Another amount for each of these, in tinybars more."""

    def change(body):
        for each in transfers(body):
            name = {ALICE: "seller", BOB: "bidder", MARKET: "market"}[
                f"0.0.{each.accountID.accountNum}"
            ]
            each.amount += changes.get(name, 0)

    return change


def receive(account):
    return AccountAmount(accountID=messages.account(account), amount=1)


TAMPERED = {
    "another account created it": schedule(creator=CHARLIE),
    "the marketplace created it": schedule(creator=MARKET),
    "another account pays for its execution": schedule(payer=CHARLIE),
    "nobody is named who pays for its execution": schedule(payer=None),
    "it waits for its expiry": schedule(waits_for_expiry=True),
    "its own memo is another": schedule(memo=offer_memo(TOKEN, 7, 251, "Foo")),
    "its own memo is empty": schedule(memo=""),
    "its transaction is empty": schedule(b""),
    "its transaction is no message": schedule(b"\xff\xff"),
    "its transaction is another": schedule(
        SchedulableTransactionBody(tokenMint={"amount": 1}).SerializeToString()
    ),
    "its memo names another price": schedule(tampered(lambda body: None, price=251)),
    "its memo names another NFT": schedule(tampered(lambda body: None, serial_no=8)),
    "its memo names another token": schedule(tampered(lambda body: None, token="0.0.7002")),
    "its memo is a listing's": schedule(
        tampered(lambda body: None, memo=f"Listing NFT with {TOKEN} and Serial Number 7 for 250 HBAR")
    ),
    "the owner gives it to itself": schedule(tampered(lambda body: None, seller=BOB)),
    "the marketplace bids": schedule(tampered(lambda body: None, bidder=MARKET), payer=MARKET),
    "the NFT goes to somebody else": schedule(
        tampered(lambda body: nft(body).receiverAccountID.CopyFrom(messages.account(CHARLIE)))
    ),
    "the NFT comes from somebody else": schedule(
        tampered(lambda body: nft(body).senderAccountID.CopyFrom(messages.account(CHARLIE)))
    ),
    "the NFT is moved by an approval": schedule(
        tampered(lambda body: setattr(nft(body), "is_approval", True))
    ),
    "it moves another NFT of the token, too": schedule(
        tampered(lambda body: units(body)[0].nftTransfers.add(serialNumber=8,
            senderAccountID=messages.account(ALICE), receiverAccountID=messages.account(BOB)))
    ),
    "it moves an NFT of another token, too": schedule(
        tampered(lambda body: units(body).add(
            token=messages.token("0.0.7002"), nftTransfers=[NftTransfer(serialNumber=1)]))
    ),
    "it moves another token, too": schedule(
        tampered(lambda body: units(body).append(
            TokenTransferList(token=messages.token("0.0.9999"), transfers=[receive(ALICE)])))
    ),
    "it moves units of the token, too": schedule(
        tampered(lambda body: units(body)[0].transfers.append(receive(ALICE)))
    ),
    "it moves no NFT": schedule(tampered(lambda body: units(body).pop())),
    "it names decimals": schedule(
        tampered(lambda body: units(body)[0].expected_decimals.SetInParent())
    ),
    "it pays somebody else, too": schedule(
        tampered(lambda body: transfers(body).append(receive(CHARLIE)))
    ),
    "it pays the owner twice": schedule(
        tampered(lambda body: transfers(body).append(receive(ALICE)))
    ),
    "the bidder pays by an approval": schedule(
        tampered(lambda body: setattr(transfers(body)[1], "is_approval", True))
    ),
    "the bidder pays a tinybar more": schedule(tampered(amounts(bidder=-1, seller=1))),
    "the bidder pays more than the owner is paid": schedule(tampered(amounts(bidder=-TINYBARS))),
    "the bidder pays less than the owner is paid": schedule(tampered(amounts(seller=1))),
    "the marketplace gets more than the price": schedule(
        tampered(lambda body: None, part_tinybars=251 * TINYBARS)
    ),
    "the marketplace gets less than it asks for": schedule(tampered(amounts(market=-1, seller=1))),
    "the marketplace pays": schedule(tampered(lambda body: None, part_tinybars=-1)),
    "it costs nothing": schedule(
        tampered(lambda body: None, price=0, part_tinybars=0, memo=MEMO.replace("250", "0"))
    ),
    "its fee has no cap": schedule(tampered(lambda body: None, max_fee_tinybars=0)),
    "its fee is too high": schedule(tampered(lambda body: None, max_fee_tinybars=MAX_FEE_TINYBARS + 1)),
    "it has custom fee limits": schedule(tampered(lambda body: body.max_custom_fees.add())),
    "it has an unknown field": schedule(sale().build().SerializeToString() + b"\xf8\x3f\1"),
    "its transfer has an unknown field": schedule(
        tampered(lambda body: body.cryptoTransfer.MergeFromString(b"\xf8\x3f\1"))
    ),
    "its NFT has an unknown field": schedule(
        tampered(lambda body: nft(body).MergeFromString(b"\xf8\x3f\1"))
    ),
    "its owner is an alias": schedule(
        tampered(lambda body: setattr(nft(body).senderAccountID, "alias", b"x"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TAMPERED)
def test_a_schedule_that_was_tampered_with_is_no_offer(case):
    assert read_sale(TAMPERED[case], SHOP) is None
    assert decide(facts(TAMPERED[case]), SHOP) is None


@pytest.mark.parametrize("memo", [b"", b"hello", offer_memo(TOKEN, 7, 251, "Foo").encode()])
def test_a_creation_with_another_memo_makes_no_offer(memo):
    """Its memo is how offers are found."""
    assert decide(facts(created=CREATION._replace(memo=memo)), SHOP) is None


FORMS = {
    "as the service builds it": {},
    "with more for the marketplace than it asks for": {"part_tinybars": 300_000_000},
    "with all for the marketplace": {"part_tinybars": 250 * TINYBARS},
    "from the marketplace's own account": {"seller": MARKET, "part_tinybars": 0},
    "with the highest cap": {"max_fee_tinybars": MAX_FEE_TINYBARS},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_schedule_with_the_form_of_an_offer_is_one(form):
    offered = sale(**FORMS[form])
    assert read_sale(schedule(offered.build().SerializeToString()), SHOP) == offered


def test_the_accounts_may_be_in_any_order():
    assert read_sale(schedule(tampered(lambda body: transfers(body).reverse())), SHOP) == sale()


def test_nothing_for_the_marketplace_is_an_offer_where_it_asks_for_nothing():
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
    from marketplace.hedera.messages import encode

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
