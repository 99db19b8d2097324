"""Random programs: each record says what changed, nothing else changes, and nobody pays unasked.

No model predicts a transaction's result: the records are compared with the balances before and after.
"""

from collections import Counter

import hypothesis
import pytest
from hypothesis import strategies as st

from hiero_sandbox import node, snapshots, times
from hiero_sandbox.application import create_sandbox
from hiero_sandbox.conditions import conditions, now
from hiero_sandbox.database import read
from hiero_sandbox.ids import MAX_HBAR, TINYBARS
from hiero_sandbox.ledger import queries, records
from hiero_sandbox.ledger.genesis import known_accounts
from hiero_sandbox.messages import account
from hiero_sandbox.mirror.rows import transaction_alone
from sandbox.tests import airdrops, fractional_fees, nested_fees, schedules, tokens, topics
from sandbox.tests.account_deletion import deletion
from sandbox.tests.batches import BATCHER, batch, inner
from sandbox.tests.bodies import HBAR, association, minting, move, rejection, sign, transfer
from sandbox.tests.fungible_tokens import allow
from sandbox.tests.fungible_tokens import move as move_units

KNOWN = {each.account_id: each.private_key for each in known_accounts()}
FEES = "0.0.802"
PEOPLE = ("0.0.1022", "0.0.1023", "0.0.1024", "0.0.1025")
TREASURY, COLLECTOR = PEOPLE[0], PEOPLE[3]
STRANGER = "0.0.1026"  # is associated with nothing, and must claim what is airdropped
ALL = (*PEOPLE, STRANGER)
# Transactions that make units and NFTs, or end them.
ONE_SIDED = {"TOKENCREATION", "TOKENMINT", "TOKENBURN", "TOKENWIPE"}


class World:
    """Tokens that owe each other's fees, a collection with royalties, and a topic that costs."""

    def __init__(self):
        fee = fractional_fees.fractional((1, 10), COLLECTOR, minimum_amount=2)
        self.gold = self.create(custom_fees=[tokens.fixed(HBAR, COLLECTOR)])
        self.silver = self.create(custom_fees=[fee])
        self.bronze = self.create(
            custom_fees=[
                nested_fees.paid_in(self.gold, 3, COLLECTOR),
                nested_fees.paid_in(self.silver, 30, COLLECTOR),
            ]
        )
        royalty = tokens.royalty(COLLECTOR)  # without a fallback fee it may be airdropped
        self.cats = self.create(tokenType=1, initialSupply=0, custom_fees=[royalty])
        self.coins = (self.gold, self.silver, self.bronze)
        for person in PEOPLE[1:]:
            for token in (*self.coins, self.cats):
                self.submit(association(person, token))  # the collector is associated with silver
            for coin in self.coins:
                paid = move_units(TREASURY, coin, {TREASURY: -1000, person: 1000})
                assert self.submit(paid).result == "SUCCESS"
        self.submit(minting(TREASURY, self.cats, b"1", b"2", b"3"))
        fees = [topics.fee(5 * HBAR, None, COLLECTOR), topics.fee(7, self.bronze, COLLECTOR)]
        self.submit(topics.new_topic(TREASURY, custom_fees=fees))
        self.topic = self.newest()

    def create(self, **fields):
        fields = {"tokenType": 0, "initialSupply": 100_000} | fields
        body = tokens.creation(TREASURY, **fields | {"treasury": account(TREASURY)})
        self.submit(body)
        return self.newest()

    def newest(self):
        return f"0.0.{queries.get_highest(read(), 'number', 'created')}"

    def submit(self, body, signers=(*ALL, tokens.ISSUER)):
        return node.submit(sign(self.prepare(body), *keys_of(signers)), now())

    def prepare(self, body):
        """Give a body a new id."""
        body.transactionFee = 30 * HBAR
        start = body.transactionID.transactionValidStart
        start.seconds, start.nanos = divmod(times.now() - times.SECOND, times.SECOND)
        return body


def keys_of(signers):
    return [KNOWN.get(each, each) for each in signers]


@pytest.fixture(scope="module")
def world():
    sandbox = create_sandbox()
    with sandbox.app_context():
        made = World()
        made.beginning = snapshots.take()
        yield made


people, signers = st.sampled_from(ALL), st.sets(st.sampled_from(ALL), max_size=3)
amounts = st.one_of(st.integers(1, 60), st.sampled_from([999, 1000, 1001]))
prices = st.one_of(st.integers(1, 20 * HBAR), st.just(9_990 * HBAR))
serial_nos, coins = st.integers(1, 3), st.integers(0, 2)
pairs = st.tuples(people, people).filter(lambda pair: pair[0] != pair[1])
payments = st.tuples(
    people,
    st.none() | st.tuples(pairs, prices),
    st.none() | st.tuples(coins, pairs, amounts, st.booleans()),
    st.none() | st.tuples(serial_nos, pairs),
)
steps = st.one_of(
    st.tuples(st.just("pay"), payments, st.just({*ALL})),
    st.tuples(st.just("pay"), payments, signers),
    st.tuples(st.just("batch"), st.lists(payments, min_size=1, max_size=3)),
    st.tuples(st.just("schedule"), payments, people, signers, st.booleans()),
    st.tuples(st.just("schedule_message"), people, signers),
    st.tuples(st.just("sign"), people, signers),
    st.tuples(st.just("wait"), st.sampled_from([60, 1801, 90_000])),
    st.tuples(st.just("allow"), pairs, coins, amounts),
    st.tuples(st.just("drop"), pairs, coins, amounts),
    st.tuples(st.just("drop_nft"), pairs, serial_nos),
    st.tuples(st.just("pending"), st.booleans(), pairs, coins, st.integers(0, 3)),
    st.tuples(st.just("delete"), pairs),
    st.tuples(st.just("say"), people),
    st.tuples(st.just("issue"), coins, amounts),
    st.tuples(st.just("burn"), coins, amounts),
    st.tuples(st.just("wipe"), people, coins, amounts),
    st.tuples(st.just("burn_nft"), serial_nos),
    st.tuples(st.just("reject"), people, coins),
    st.tuples(st.just("leave"), people, coins),
)


def transfer_of(world, payment):
    """A transfer of HBAR, units and an NFT, as far as a payment has each."""
    payer, hbar, units, nft = payment
    changes = {}
    if hbar:
        (giver, taker), price = hbar
        changes = {giver: -price, taker: price}
    body = transfer(payer, changes)
    if units:
        coin, (giver, taker), amount, is_approval = units
        moved = {giver: -amount, taker: amount}
        body = move_units(payer, world.coins[coin], moved, changes, is_approval=is_approval)
    if nft:
        serial_no, parties = nft
        move(body, (world.cats, serial_no), *parties)
    return body


def play(world, step):
    name, *details = step
    match name, details:
        case "pay", [payment, signers]:
            return world.submit(transfer_of(world, payment), {payment[0], *signers})
        case "batch", [payments]:
            bodies = [world.prepare(transfer_of(world, payment)) for payment in payments]
            together = batch(*(inner(body, *keys_of(ALL)) for body in bodies), payer=TREASURY)
            return world.submit(together, (TREASURY, BATCHER))
        case "schedule", [payment, payer, signers, waits]:
            body = transfer_of(world, payment)
            body.memo = f"not the same as before {times.now()}"
            expires = now() // times.SECOND + 3600
            fields = {"payerAccountID": account(payer), "expires": expires}
            body = schedules.creation_of(body, TREASURY, **fields, wait_for_expiry=waits)
            return world.submit(body, {TREASURY, *signers})
        case "schedule_message", [payer, signers]:
            body = topics.message(world.topic, b"%d" % times.now(), payer)
            body = schedules.creation_of(body, TREASURY, payerAccountID=account(payer))
            return world.submit(body, {TREASURY, *signers})
        case "sign", [payer, signers]:
            return world.submit(
                schedules.about("scheduleSign", world.newest(), payer), {payer, *signers}
            )
        case "wait", [seconds]:
            conditions().clock_moved += seconds * times.SECOND
            return node.end_expired_schedules(now())
        case "allow", [(owner, spender), coin, amount]:
            return world.submit(allow(owner, spender, amount, world.coins[coin]))
        case "drop", [(sender, receiver), coin, amount]:
            return world.submit(airdrops.drop(sender, world.coins[coin], {receiver: amount}))
        case "drop_nft", [(sender, receiver), serial_no]:
            return world.submit(airdrops.drop(sender, world.cats, nfts={serial_no: receiver}))
        case "pending", [is_claim, (sender, receiver), coin, serial_no]:
            kind = "tokenClaimAirdrop" if is_claim else "tokenCancelAirdrop"
            token = world.cats if serial_no else world.coins[coin]
            named = (sender, receiver, token, serial_no)
            return world.submit(
                airdrops.about_pending(kind, receiver if is_claim else sender, named)
            )
        case "delete", [(deleted, heir)]:
            return world.submit(deletion(deleted, heir, payer=deleted))
        case "say", [payer]:
            return world.submit(topics.message(world.topic, b"hello", payer))
        case "issue", [coin, amount]:
            body = minting(TREASURY, world.coins[coin])
            body.tokenMint.amount = amount
            return world.submit(body)
        case "burn", [coin, amount]:
            return world.submit(
                tokens.about("tokenBurn", world.coins[coin], TREASURY, amount=amount)
            )
        case "wipe", [owner, coin, amount]:
            body = tokens.about("tokenWipe", world.coins[coin], TREASURY, owner, amount=amount)
            return world.submit(body)
        case "burn_nft", [serial_no]:
            return world.submit(
                tokens.about("tokenBurn", world.cats, TREASURY, serialNumbers=[serial_no])
            )
        case "reject", [owner, coin]:
            return world.submit(rejection(owner, world.coins[coin]))
        case "leave", [owner, coin]:
            return world.submit(association(owner, world.coins[coin], kind="tokenDissociate"))
    raise ValueError(name)


def state():
    """Balances by account and unit, and owners of NFTs."""
    balances = Counter(
        {(row["account_id"], None): row["balance"] for row in queries.select(read(), "account")}
    )
    for row in queries.select(read(), "holding"):
        balances[row["account_id"], row["token"]] = row["balance"]
    nfts = queries.select(read(), "nft")
    return balances, {(row["token"], row["serial_no"]): row["owner"] for row in nfts}


def recorded_since(moment):
    high = queries.get_last_consensus(read())
    rows = queries.iterate_transactions(read(), moment + 1, high, is_ascending=True)
    return [transaction_alone(records.read(row)) for row in rows]


def apply(row, balances, owners):
    """What a record says has changed."""
    moved = [(each["account"], None, each["amount"]) for each in row["transfers"]]
    moved += [
        (each["account"], each["token_id"], each["amount"]) for each in row["token_transfers"]
    ]
    total = Counter()
    for account_id, token, amount in moved:
        balances[account_id, token] += amount
        total[token] += amount
    assert total[None] == 0
    assert row["name"] in ONE_SIDED or not any(total.values())
    for each in row["nft_transfers"]:
        nft = each["token_id"], each["serial_number"]
        assert owners[nft] == each["sender_account_id"]
        owners[nft] = each["receiver_account_id"] or queries.NOBODY
    if row["result"] != "SUCCESS":
        assert not row["token_transfers"] + row["nft_transfers"]
        payer = row["transaction_id"].partition("-")[0]
        parties = {each["account"] for each in row["transfers"]}
        assert row["scheduled"] or parties <= {payer, FEES}


def assert_signed(row, signers):
    """Whoever gives something away has signed, or has approved it before."""
    moved = [*row["transfers"], *row["token_transfers"]]
    given = [(each["account"], each["is_approval"]) for each in moved if each["amount"] < 0]
    given += [(each["sender_account_id"], each["is_approval"]) for each in row["nft_transfers"]]
    approved = {account_id for account_id, is_approval in given if is_approval}
    assert {account_id for account_id, _ in given} - approved <= signers


@hypothesis.given(st.lists(steps, min_size=1, max_size=15))
def test_records_say_what_has_changed(world, story):
    assert snapshots.restore(world.beginning)
    balances, owners = state()
    for step in story:
        moment = queries.get_last_consensus(read())
        play(world, step)
        for row in recorded_since(moment):
            apply(row, balances, owners)
            if step[0] == "pay":
                assert_signed(row, {step[1][0], *step[2]})
        after, owners_after = state()
        assert min(after.values()) >= 0
        assert +balances == +after
        assert owners == owners_after
        hbar = {key[0]: amount for key, amount in after.items() if key[1] is None}
        assert sum(hbar.values()) == MAX_HBAR * TINYBARS
        gone = [row["account_id"] for row in queries.select(read(), "account", is_deleted=1)]
        assert not any(after[key] for key in after if key[0] in gone)
        assert not {*owners.values()} & {*gone}
        for row in queries.select(read(), "airdrop"):
            assert row["sender"] not in gone
            assert bool(row["amount"]) != bool(row["serial_no"])


def test_the_programs_do_all_that_they_are_meant_to(world):
    """Each kind of step has succeeded in some program, and its record shows it."""
    assert snapshots.restore(world.beginning)
    moment = queries.get_last_consensus(read())
    first, second, third, fourth = PEOPLE
    hbar, units = ((second, third), HBAR), (2, (second, third), 5, False)
    payment = (second, hbar, units, None)
    gift = (first, None, None, (1, (first, second)))
    for step in (
        ("pay", payment, {second}),
        ("pay", gift, {first}),
        ("allow", (third, fourth), 0, 50),
        ("pay", (fourth, None, (0, (third, fourth), 5, True), None), {fourth}),
        ("batch", [payment, (third, hbar, None, None)]),
        ("schedule", payment, second, {second}, False),
        ("schedule", (third, None, (1, (second, third), 5, False), None), third, {third}, False),
        ("sign", second, {second}),
        ("schedule", payment, second, {second}, True),
        ("wait", 90_000),
        ("schedule_message", third, {third}),
        ("drop", (second, STRANGER), 0, 5),
        ("drop_nft", (first, STRANGER), 2),
        ("pending", True, (second, STRANGER), 0, 0),
        ("pending", True, (first, STRANGER), 0, 2),
        ("drop", (second, STRANGER), 1, 5),
        ("pending", False, (second, STRANGER), 1, 0),
        ("say", third),
        ("issue", 0, 5),
        ("burn", 0, 5),
        ("wipe", third, 1, 5),
        ("burn_nft", 3),
        ("reject", fourth, 0),
        ("leave", fourth, 0),
    ):
        play(world, step)
    rows = recorded_since(moment)
    results = Counter((row["name"], row["result"], row["scheduled"]) for row in rows)
    assert {result for _, result, _ in results} == {"SUCCESS"}
    assert results["CRYPTOTRANSFER", "SUCCESS", True] == 3
    assert results["CONSENSUSSUBMITMESSAGE", "SUCCESS", True] == 1
    assert sum("assessed_custom_fees" in row for row in rows) >= 5
