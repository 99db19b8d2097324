"""The rule of an offer, case by case: facts of the ledger in, an offer out, or none."""

import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountAmount,
    Key,
    KeyList,
    NftTransfer,
    ThresholdKey,
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
from marketplace.ledger.mirror_schemas import LedgerKey, Schedule, ScheduleSignature, Transaction
from marketplace.market.listing_rule import Undecided
from marketplace.market.memos import offer_memo
from marketplace.market.offers.rule import MAX_FEE_TINYBARS, Facts, Offer, decide, read_sale

SCHEDULE = "0.0.8001"
CREATED, SIGNED, LATER, EXECUTED, EXPIRES = 1000, 2000, 3000, 4000, 9000
MEMO = offer_memo(TOKEN, 7, 250, "Foo")
ED25519, OTHER, ECDSA = bytes(range(32)), bytes(range(1, 33)), b"\2" + bytes(32)
PLAIN = LedgerKey("ED25519", ED25519)
ID = TransactionId(MARKET, 100, 5)


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


def schedule(body=None, signers=((SIGNED, ED25519),), **fields):
    values = dict(
        id=SCHEDULE, creator=MARKET, payer=BOB, created_at=CREATED, expires_at=EXPIRES, memo=MEMO
    )
    values["body"] = sale().build().SerializeToString() if body is None else body
    values["signatures"] = tuple(ScheduleSignature(*each) for each in ((CREATED, OTHER), *signers))
    return Schedule(**values | fields)


def row(consensus_at, **fields):
    values = dict(name="SCHEDULESIGN", transaction_id=TransactionId(BOB, 200, consensus_at))
    values |= dict(result="SUCCESS", entity_id=SCHEDULE, consensus_at=consensus_at)
    return Transaction(**values | fields)


CREATION = row(CREATED, name="SCHEDULECREATE", transaction_id=ID)


def facts(schedule=None, *rows, key=PLAIN, shown_to=LATER):
    """Facts in which Bob has signed, unless these rows say otherwise."""
    rows = {each.consensus_at: each for each in (CREATION, *(rows or (row(SIGNED),)))}
    return Facts(schedule or globals()["schedule"](), key, rows, shown_to)


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
    "another account pays for its execution": schedule(payer=CHARLIE),
    "nobody is named who pays for its execution": schedule(payer=None),
    "it waits for its expiry": schedule(waits_for_expiry=True),
    "it has no expiry": schedule(expires_at=None),
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
    "it pays in another order": schedule(tampered(lambda body: transfers(body).reverse())),
    "the bidder pays by an approval": schedule(
        tampered(lambda body: setattr(transfers(body)[1], "is_approval", True))
    ),
    "the bidder pays a tinybar more": schedule(tampered(amounts(bidder=-1, seller=1))),
    "the bidder pays more than the owner is paid": schedule(tampered(amounts(bidder=-TINYBARS))),
    "the bidder pays less than the owner is paid": schedule(tampered(amounts(seller=1))),
    "the marketplace gets more than the price": schedule(
        tampered(lambda body: None, part_tinybars=251 * TINYBARS)
    ),
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
    there = TAMPERED[case]
    assert read_sale(there, MARKET) is None or there.expires_at is None
    rows = {moment: row(moment) for moment in (SIGNED,)} | {CREATED: CREATION}
    assert decide(Facts(there, PLAIN, rows), MARKET) is None


FORMS = {
    "as the service builds it": {},
    "with nothing for the marketplace": {"part_tinybars": 0},
    "with all for the marketplace": {"part_tinybars": 250 * TINYBARS},
    "from the marketplace's own account": {"seller": MARKET, "part_tinybars": 0},
    "with the highest cap": {"max_fee_tinybars": MAX_FEE_TINYBARS},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_schedule_with_the_form_of_an_offer_is_one(form):
    offered = sale(**FORMS[form])
    assert read_sale(schedule(offered.build().SerializeToString()), MARKET) == offered


def test_zeros_that_javascript_writes_make_no_difference():
    """Some encoders write fields that are zero, such as the shard."""
    from marketplace.hedera.encoding import encode

    assert read_sale(schedule(encode(sale().build())), MARKET) == sale()


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
    assert read_sale(there, MARKET) == offered


# The state of an offer


def list_of(*keys):
    return Key(keyList=KeyList(keys=keys))


def threshold(count, *keys):
    return Key(thresholdKey=ThresholdKey(threshold=count, keys=KeyList(keys=keys)))


def encoded(key):
    return LedgerKey("ProtobufEncoded", key.SerializeToString())


ONE, TWO, THREE = Key(ed25519=ED25519), Key(ed25519=OTHER), Key(ECDSA_secp256k1=ECDSA)
TWICE = schedule(signers=((SIGNED, ED25519), (SIGNED, ECDSA)))
RUN = row(EXECUTED, name="CRYPTOTRANSFER", transaction_id=ID, scheduled=True, entity_id=None)
STATES = {
    "the bidder has signed": (facts(), "signed"),
    "the bidder has signed, by ECDSA": (
        facts(schedule(signers=((SIGNED, ECDSA),)), key=LedgerKey("ECDSA_SECP256K1", ECDSA)), "signed"),
    "all of a list have signed": (facts(TWICE, key=encoded(list_of(ONE, THREE))), "signed"),
    "one of a list has signed": (facts(key=encoded(list_of(ONE, THREE))), "unsigned"),
    "enough of a threshold have signed": (
        facts(TWICE, key=encoded(threshold(2, ONE, TWO, THREE))), "signed"),
    "too few of a threshold have signed": (
        facts(key=encoded(threshold(2, ONE, TWO, THREE))), "unsigned"),
    "a nested key has signed": (
        facts(TWICE, key=encoded(list_of(threshold(1, TWO, THREE), list_of(ONE)))), "signed"),
    "the key is an empty list": (facts(key=encoded(list_of())), "unsigned"),
    "the key is a threshold of none": (facts(key=encoded(threshold(0, ONE))), "unsigned"),
    "the key is a contract": (facts(key=encoded(Key(contractID={"contractNum": 5}))), "unsigned"),
    "the key is no message": (facts(key=LedgerKey("ProtobufEncoded", b"\xff")), "unsigned"),
    "the account is hollow": (facts(key=None), "unsigned"),
    "the key was changed since": (facts(key=LedgerKey("ED25519", OTHER)), "unsigned"),
    "the key was changed, and has signed again": (
        facts(schedule(signers=((SIGNED, ED25519), (LATER, ECDSA))), row(LATER),
            key=LedgerKey("ECDSA_SECP256K1", ECDSA)), "signed"),
    "the key was changed since, or an older one is shown": (
        facts(key=LedgerKey("ED25519", OTHER), shown_to=SIGNED - 1), None),
    "nobody has signed, and nothing is shown to all": (facts(schedule(signers=()), shown_to=0), "unsigned"),
    "a first part of the key has signed": (facts(schedule(signers=((SIGNED, ED25519[:6]),))), "unsigned"),
    "nobody has signed": (facts(schedule(signers=())), "unsigned"),
    "the owner put the bidder's key beside a false signature": (
        facts(schedule(), row(SIGNED, transaction_id=TransactionId(ALICE, 200, 1))), "unsigned"),
    "so did the owner, before the bidder signed": (
        facts(schedule(signers=((SIGNED, ED25519), (LATER, ED25519))),
            row(SIGNED, transaction_id=TransactionId(ALICE, 200, 1)), row(LATER)), "signed"),
    "a contract signed it": (facts(schedule(), row(SIGNED, nonce=1)), "unsigned"),
    "the bidder's transaction failed": (
        facts(schedule(), row(SIGNED, result="NO_NEW_VALID_SIGNATURES")), "unsigned"),
    "the bidder signed another schedule": (
        facts(schedule(), row(SIGNED, entity_id="0.0.8002")), "unsigned"),
    "the bidder's transaction is another": (
        facts(schedule(), row(SIGNED, name="CRYPTOTRANSFER")), "unsigned"),
    "the bidder's signature is not shown yet": (facts(schedule(), CREATION), None),
    "its creation is not shown yet": (Facts(schedule(), PLAIN, {SIGNED: row(SIGNED)}), None),
    "it was executed": (facts(schedule(executed_at=EXECUTED), RUN), "executed"),
    "it was executed, after which its expiry came": (
        facts(schedule(executed_at=EXECUTED), RUN, shown_to=EXPIRES), "executed"),
    "its execution failed": (
        facts(schedule(executed_at=EXECUTED), RUN._replace(result="INSUFFICIENT_ACCOUNT_BALANCE")), "failed"),
    "its execution is not shown yet": (facts(schedule(executed_at=EXECUTED), row(SIGNED)), None),
    "it was deleted": (facts(schedule(is_deleted=True)), "withdrawn"),
    "it has expired": (facts(schedule(), shown_to=EXPIRES), "expired"),
    "it has expired, but not for all replicas": (facts(schedule(), shown_to=EXPIRES - 1), "signed"),
}  # fmt: skip


@pytest.mark.parametrize("case", STATES)
def test_every_case_has_its_state(case):
    given_facts, state = STATES[case]
    decided = decide(given_facts, MARKET)
    if state is None:
        assert isinstance(decided, Undecided)
    else:
        assert decided.state == state
        assert (decided.by is None) == (state in ("unsigned", "withdrawn", "expired"))


def test_a_deletion_that_is_known_dates_the_withdrawal():
    deleted = row(LATER, name="SCHEDULEDELETE")
    decided = decide(facts(schedule(is_deleted=True), deleted), MARKET)
    assert (decided.state, decided.state_at, decided.by) == ("withdrawn", LATER, deleted)


def test_an_offer_has_all_that_is_shown_of_it():
    there = schedule()
    assert decide(facts(), MARKET) == Offer(
        SCHEDULE, TOKEN, 7, ALICE, BOB, 250, ID, CREATED, EXPIRES, there.body, "signed", SIGNED, row(SIGNED)
    )  # fmt: skip
