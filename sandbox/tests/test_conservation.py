"""No HBAR is made or lost: a model of the ledger, told the same random transactions, has the same balances.

The model knows nothing of the sandbox. It is told what a transaction wants, and says what must come of it.
"""

import copy
from collections import Counter
from fractions import Fraction

import hypothesis
import pytest
from hypothesis import strategies as st

from hiero_sandbox import node, times, wallet
from hiero_sandbox.database import read, write
from hiero_sandbox.ids import TransactionId
from hiero_sandbox.ledger import accounts, keys, nfts, queries, records, tokens
from hiero_sandbox.messages import account
from hiero_sandbox.mirror import rows
from sandbox.tests import airdrops, bodies, fractional_fees, world
from sandbox.tests.account_deletion import deletion
from sandbox.tests.batches import BATCHER, batch, inner
from sandbox.tests.bodies import (
    FIRST,
    HBAR,
    MINTED_AT,
    approval,
    minting,
    rejection,
    seal,
    transfer,
)
from sandbox.tests.fungible_tokens import move as move_units
from sandbox.tests.ledger import mint
from sandbox.tests.people import private_key, public_key
from sandbox.tests.schedules import creation_of
from sandbox.tests.tokens import COLLECTOR, ISSUER, TREASURY, about, creation

PEOPLE = ("0.0.1001", "0.0.1002", "0.0.1003", "0.0.2002")  # the last one collects royalties
MARKET, FEES = "0.0.9001", "0.0.802"
NFTS = (("0.0.5002", 1), ("0.0.5002", 2), ("0.0.7001", 1))
ALL = (*PEOPLE, MARKET, FEES, "0.0.2003")
TABLES = (
    "account", "airdrop", "association", "created", "gift", "holding", "nft", "nft_transaction", "schedule",
    "schedule_signature", "token", "transaction_record",
)  # fmt: skip
# In tinybars.
APPROVAL, HBAR_ALONE, NFT, ROYAL_NFT, ASSOCIATION, DELETION, SCHEDULE = (
    round(usd * 10 * HBAR) for usd in (0.05, 0.0001, 0.001, 0.002, 0.05, 0.005, 0.01)
)
MORE = round(0.0001 * 10 * HBAR)  # a further signature, account or token
ROYALTIES = {
    "0.0.5002": (("0.0.2002", Fraction(1, 20), 10 * HBAR), ("0.0.2003", Fraction(1, 40), 0))
}


class Model:
    """Balances and owners by the rules of the documents."""

    def __init__(self):
        self.balances = Counter(dict.fromkeys(ALL, FIRST))
        self.owners = dict.fromkeys(NFTS, PEOPLE[0])
        self.spenders = dict.fromkeys(NFTS)
        self.associated = {(PEOPLE[0], token) for token, _ in NFTS}
        self.deleted = set()

    def pay(self, payer, fee):
        self.balances[payer] -= fee
        self.balances[FEES] += fee

    def delete(self, deleted, heir):
        if self.balances[MARKET] < DELETION + MORE:
            return
        self.pay(MARKET, DELETION + MORE)
        if not {deleted, heir} & self.deleted and deleted not in self.owners.values():
            self.balances[heir] += self.balances.pop(deleted)
            self.deleted.add(deleted)

    def approve(self, owner, nft):
        if self.balances[owner] < APPROVAL:
            return
        self.pay(owner, APPROVAL)
        if self.owners[nft] == owner:
            self.spenders[nft] = MARKET

    def move(self, payer, hbar, nfts, signers):
        """nfts: (nft, sender, receiver, is_approval)."""
        fee = self.price(hbar, nfts, signers)
        if payer in self.deleted or self.balances[payer] < fee + max(0, -hbar.get(payer, 0)):
            return
        self.pay(payer, fee)
        self.move_all_or_nothing(payer, hbar, nfts, signers)

    def schedule(self, payer, hbar, nfts, signers):
        fee = SCHEDULE + MORE * (len({MARKET, *signers}) - 1)
        if self.balances[MARKET] < fee:
            return
        self.pay(MARKET, fee)
        fee = self.price(hbar, nfts, [payer])
        is_complete = self.wanted(hbar, nfts) <= set(signers)
        if is_complete and payer not in self.deleted and self.balances[payer] >= fee:
            self.pay(payer, fee)
            self.move_all_or_nothing(payer, hbar, nfts, signers)

    def move_all_or_nothing(self, payer, hbar, nfts, signers):
        before = (
            Counter(self.balances),
            dict(self.owners),
            dict(self.spenders),
            set(self.associated),
        )
        if not self.try_to_move(payer, hbar, nfts, signers):
            self.balances, self.owners, self.spenders, self.associated = before

    def price(self, hbar, nfts, signers):
        tokens = {nft[0] for nft, *_ in nfts}
        people = set(hbar) | {
            person for _, sender, receiver, _ in nfts for person in (sender, receiver)
        }
        base = (ROYAL_NFT if tokens & ROYALTIES.keys() else NFT) if nfts else HBAR_ALONE
        further = max(0, len(people) - 2) + max(0, len(tokens) - 1) + max(0, len(signers) - 1)
        return base + MORE * further

    def wanted(self, hbar, nfts):
        """Whose signatures a transfer needs."""
        wanted = {person for person, amount in hbar.items() if amount < 0}
        wanted |= {sender for _, sender, _, is_approval in nfts if not is_approval}
        for (token, _), sender, receiver, _ in nfts:
            if token in ROYALTIES and hbar.get(sender, 0) <= 0:
                wanted.add(receiver)
        return wanted

    def try_to_move(self, payer, hbar, nfts, signers):
        if not self.wanted(hbar, nfts) <= set(signers):
            return False
        parties = {person for _, *both, _ in nfts for person in both} | set(hbar)
        if parties & self.deleted:
            return False
        first, then = Counter(hbar), Counter()
        for person, amount in self.royalties(hbar, nfts):
            is_of_credit = amount < 0 < hbar.get(person, 0)
            (first if is_of_credit else then)[person] += amount
        for (token, _), _, receiver, _ in nfts:
            if (receiver, token) not in self.associated:
                self.associated.add((receiver, token))
                self.pay(payer, ASSOCIATION)
                if self.balances[payer] < 0:
                    return False
        if {person for person, _ in self.royalties(hbar, nfts)} & self.deleted:
            return False
        # Nobody pays with what the fees of the same transfer bring.
        for changes in (first, then):
            self.balances.update(changes)
            if any(self.balances[person] < 0 for person in ALL):
                return False
        for nft, sender, receiver, is_approval in nfts:
            allowed = not is_approval or self.spenders[nft] == payer
            if self.owners[nft] != sender or not allowed:
                return False
            self.owners[nft], self.spenders[nft] = receiver, None
        return True

    def royalties(self, hbar, nfts):
        done = set()
        for (token, _), sender, receiver, _ in nfts:
            got = max(0, hbar.get(sender, 0))
            who = sender if got else receiver
            if {(sender, token), (who, token)} & done:
                continue
            done.add((who, token))
            for collector, part, fallback in ROYALTIES.get(token, ()):
                amount = int(got * part) if got else fallback
                if who != collector:
                    yield from ((who, -amount), (collector, amount))


amounts = st.one_of(
    st.integers(1, 60 * HBAR),
    st.integers(FIRST - HBAR, FIRST + HBAR),
    st.sampled_from([1, 19, 20, 39, 40, FIRST, FIRST - HBAR_ALONE]),
)
people = st.sampled_from(PEOPLE)
sellers = st.sampled_from((PEOPLE[0],) * 4 + PEOPLE[1:])


@st.composite
def moves(draw):
    """A transfer as anybody might write one; mostly a sale, sometimes nonsense."""
    hbar, nfts = Counter(), []
    for nft in draw(st.lists(st.sampled_from(NFTS), unique=True, max_size=2)):
        sender, receiver = draw(sellers), draw(people)
        if sender != receiver:
            nfts.append((nft, sender, receiver, draw(st.sampled_from([False, False, True]))))
            if draw(st.booleans()):
                price = draw(amounts)
                hbar.update({receiver: -price, sender: price})
    if draw(st.booleans()):
        price, giver, taker = draw(amounts), draw(people), draw(people)
        if giver != taker:
            hbar.update({giver: -price, taker: price})
    payer = draw(st.sampled_from([MARKET, *PEOPLE]))
    signers = {payer, *draw(st.sampled_from([PEOPLE, PEOPLE, PEOPLE[:1]]))}
    return "move", payer, dict(hbar), nfts, sorted(signers)


# Most approvals are of an owner's, and some are of nobody's.
approvals = st.tuples(st.just("approve"), people, st.sampled_from(NFTS))
deletions = st.tuples(st.just("delete"), people, people).filter(lambda step: step[1] != step[2])
schedules = moves().map(lambda step: ("schedule", *step[1:]))
steps = st.one_of(
    moves(), moves(), approvals, approvals, st.just(("sale",)), deletions, schedules
)  # fmt: skip


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return world.make(tmp_path_factory.mktemp("ledger") / "ledger.db")


def begin(ledger):
    with write() as db:
        for table in TABLES:
            db.execute(f"DELETE FROM {table}")
        for account_id in (*PEOPLE, MARKET):
            key = keys.of_bytes(public_key(account_id))
            encoded = key.SerializeToString().hex()
            accounts.change(db, account_id, MINTED_AT, key=encoded)
    for nft in NFTS:
        mint(nft, PEOPLE[0], MINTED_AT)


def submit(body, signers):
    content = seal(body)
    for signer in signers:
        content = wallet.add_signature(private_key(signer), content)
    return node.submit(content, times.now())


def play(model, step):
    if step[0] == "approve":
        _, owner, nft = step
        submit(approval(owner, nft), [owner])
        model.approve(owner, nft)
    elif step[0] == "delete":
        _, deleted, heir = step
        submit(deletion(deleted, heir, payer=MARKET), [MARKET, deleted])
        model.delete(deleted, heir)
    elif step[0] == "sale":
        nft = NFTS[0]
        seller = model.owners[nft]
        buyer = PEOPLE[(PEOPLE.index(seller) + 1) % len(PEOPLE)]
        play(model, ("approve", seller, nft))
        hbar = {buyer: -100 * HBAR - 1, seller: 100 * HBAR + 1}
        play(model, ("move", MARKET, hbar, [(nft, seller, buyer, True)], [MARKET, buyer]))
    elif step[0] == "schedule":
        _, payer, hbar, nfts, signers = step
        moved = transfer(payer, hbar, nfts)
        moved.memo = f"not the same as before {times.now()}"
        submit(creation_of(moved, MARKET, payerAccountID=account(payer)), {MARKET, *signers})
        model.schedule(payer, hbar, nfts, signers)
    else:
        _, payer, hbar, nfts, signers = step
        submit(transfer(payer, hbar, nfts), signers)
        model.move(payer, hbar, nfts, signers)


@hypothesis.given(st.lists(steps, min_size=1, max_size=12))
def test_the_ledger_and_the_model_agree(ledger, story):
    with ledger.app_context():
        begin(ledger)
        model = Model()
        for step in story:
            play(model, step)
            kept = {account_id: accounts.balance(read(), account_id) for account_id in ALL}
            assert all(kept[account_id] == 0 for account_id in model.deleted)
            assert sum(kept.values()) == FIRST * len(ALL)
            assert min(kept.values()) >= 0
            assert kept == {account_id: model.balances[account_id] for account_id in ALL}
            owners = {nft: nfts.find(read(), *nft).owner for nft in NFTS}
            assert owners == model.owners
            shown = queries.select(read(), "account")
            assert {row["account_id"] for row in shown} <= set(ALL)


HOLDERS = (TREASURY, *PEOPLE[:2])
CLAIMER = PEOPLE[2]  # whose signature a transfer to him needs
holders, serial_nos = st.sampled_from(HOLDERS), st.integers(1, 6)
supply_steps = st.one_of(
    st.tuples(st.just("mint"), st.integers(1, 3)),
    st.tuples(st.just("burn"), serial_nos),
    st.tuples(st.just("wipe"), holders, serial_nos),
    st.tuples(st.just("give"), holders, holders, serial_nos),
    st.tuples(st.just("issue"), st.integers(0, 500)),
    st.tuples(st.just("end"), st.integers(0, 500)),
    st.tuples(st.just("pay"), holders, holders, st.integers(1, 500)),
    st.tuples(st.just("reject"), holders, serial_nos),
    st.tuples(st.just("reject_units"), holders),
    st.tuples(st.just("drop"), holders, st.integers(1, 500)),
    st.tuples(st.just("drop_nft"), holders, serial_nos),
    st.tuples(st.just("claim"), holders, st.integers(0, 6)),
    st.tuples(st.just("cancel"), holders, st.integers(0, 6)),
)
batches = st.lists(supply_steps, min_size=1, max_size=3)


class Supplies:
    """Owners of a collection's NFTs, None of those that ended; units of a coin by account."""

    def __init__(self, cats, coin):
        self.cats, self.coin, self.owners, self.units = cats, coin, [], Counter({TREASURY: 1000})
        self.pending = {}  # amounts by sender and serial number; 0 of the coin

    def owner(self, serial_no):
        return self.owners[serial_no - 1] if serial_no <= len(self.owners) else None

    def mint(self, count):
        self.owners += [TREASURY] * count
        return minting(TREASURY, self.cats, *[b"x"] * count)

    def burn(self, serial_no):
        if self.owner(serial_no) == TREASURY:
            self.owners[serial_no - 1] = None
        return about("tokenBurn", self.cats, serialNumbers=[serial_no])

    def wipe(self, owner, serial_no):
        if owner == self.owner(serial_no) and owner != TREASURY:
            self.owners[serial_no - 1] = None
        return about("tokenWipe", self.cats, account_id=owner, serialNumbers=[serial_no])

    def give(self, sender, receiver, serial_no):
        if self.owner(serial_no) == sender != receiver:
            self.owners[serial_no - 1] = receiver
        return transfer(TREASURY, nfts=[((self.cats, serial_no), sender, receiver)])

    def issue(self, amount):
        self.units[TREASURY] += amount
        body = minting(TREASURY, self.coin)
        body.tokenMint.amount = amount
        return body

    def end(self, amount):
        if amount <= self.units[TREASURY]:
            self.units[TREASURY] -= amount
        return about("tokenBurn", self.coin, amount=amount)

    def pay(self, sender, receiver, amount):
        if amount <= self.units[sender] and sender != receiver:
            self.units.update({sender: -amount, receiver: amount})
        return move_units(TREASURY, self.coin, {sender: -amount} | {receiver: amount})

    def reject(self, owner, serial_no):
        if self.owner(serial_no) == owner:
            self.owners[serial_no - 1] = TREASURY
        return rejection(owner, (self.cats, serial_no))

    def drop(self, sender, amount):
        """To somebody who must claim it."""
        if amount <= self.units[sender]:
            self.pending[sender, 0] = self.pending.get((sender, 0), 0) + amount
        return airdrops.drop(sender, self.coin, {CLAIMER: amount})

    def drop_nft(self, sender, serial_no):
        if self.owner(serial_no) == sender:
            self.pending.setdefault((sender, serial_no), 0)
        return airdrops.drop(sender, self.cats, nfts={serial_no: CLAIMER})

    def claim(self, sender, serial_no):
        amount = self.pending.get((sender, serial_no))
        if serial_no and amount is not None and self.owner(serial_no) == sender:
            self.owners[serial_no - 1] = CLAIMER
            del self.pending[sender, serial_no]
        elif not serial_no and amount and amount <= self.units[sender]:
            self.units.update({sender: -amount, CLAIMER: amount})
            del self.pending[sender, serial_no]
        return self.about_pending("tokenClaimAirdrop", CLAIMER, sender, serial_no)

    def cancel(self, sender, serial_no):
        self.pending.pop((sender, serial_no), None)
        return self.about_pending("tokenCancelAirdrop", sender, sender, serial_no)

    def about_pending(self, kind, payer, sender, serial_no):
        token = self.cats if serial_no else self.coin
        return airdrops.about_pending(kind, payer, (sender, CLAIMER, token, serial_no))

    def reject_units(self, owner):
        units = self.units.pop(owner, 0)
        self.units[TREASURY] += units
        return rejection(owner, self.coin)


def create(*collectors, **fields):
    content = bodies.sign(creation(**fields), TREASURY, ISSUER, *collectors)
    assert node.submit(content, times.now()).result == "SUCCESS"
    return f"0.0.{read().execute('SELECT MAX(number) FROM created').fetchone()[0]}"


def play_supplies(model, step):
    """Submit a step, or some in a batch; returns the model of what is there then."""
    before, steps = copy.deepcopy(model), step if isinstance(step, list) else [step]
    told = [getattr(model, name)(*details) for name, *details in steps]
    signers = (*HOLDERS, CLAIMER, ISSUER)
    if steps is not step:
        node.submit(bodies.sign(*told, *signers), times.now())
        return model
    together = batch(*(inner(body, *signers) for body in told), payer=TREASURY)
    result = node.submit(bodies.sign(together, *signers, BATCHER), times.now()).result
    assert result in ("SUCCESS", "INNER_TRANSACTION_FAILED")
    return model if result == "SUCCESS" else before


@hypothesis.given(st.lists(st.one_of(supply_steps, batches), min_size=3, max_size=15))
def test_supplies_are_what_was_minted_and_did_not_end(ledger, story):
    with ledger.app_context():
        begin(ledger)
        with write() as db:
            columns = {"is_receiver_signature_required": 1, "automatic_associations": 0}
            accounts.change(db, CLAIMER, MINTED_AT, **columns)
        model = Supplies(create(), create(tokenType=0, initialSupply=1000))
        for step in story:
            model = play_supplies(model, step)
            owners = [
                nfts.find(read(), model.cats, number + 1).owner or None
                for number in range(len(model.owners))
            ]
            assert owners == model.owners
            cats, coin = (tokens.find(read(), token) for token in (model.cats, model.coin))
            assert tokens.supply(read(), cats) == len([owner for owner in owners if owner])
            assert tokens.supply(read(), coin) == sum(model.units.values())
            assert {
                (row["sender"], row["serial_no"]): row["amount"]
                for row in queries.select(read(), "airdrop", receiver=CLAIMER)
            } == model.pending
            for account_id in (*HOLDERS, CLAIMER):
                units = queries.count_units_of(read(), account_id, model.coin)
                assert units == model.units[account_id]
            balances = [row["balance"] for row in queries.select(read(), "account")]
            assert sum(balances) == FIRST * len(balances)


collectors = st.sampled_from((COLLECTOR, fractional_fees.OTHER, PEOPLE[0]))
fees_of_units = st.one_of(
    st.builds(fractional_fees.in_own_units, st.integers(1, 20), collectors),
    st.builds(
        fractional_fees.fractional,
        st.tuples(st.integers(1, 9), st.integers(10, 20)),
        collectors,
        all_are_exempt=st.booleans(),
        minimum_amount=st.integers(0, 9),
        maximum_amount=st.integers(9, 60) | st.just(0),
        net_of_transfers=st.booleans(),
    ),
)
people = st.sampled_from(PEOPLE)
receivers = st.sampled_from((TREASURY, *PEOPLE, COLLECTOR))
payments = st.tuples(people, people, st.dictionaries(receivers, st.integers(1, 80), min_size=1))


def shared(first, second, amounts):
    """A payment of which the second sender pays a third."""
    total, changes = sum(amounts.values()), Counter(amounts)
    changes.update({first: total // 3 - total})
    changes.update({second: -(total // 3)})
    return {account_id: amount for account_id, amount in changes.items() if amount}


def held(coin):
    return Counter(
        {row["account_id"]: row["balance"] for row in queries.list_holders(read(), coin)}
    )


@hypothesis.given(
    st.lists(fees_of_units, min_size=1, max_size=3), st.lists(payments, min_size=1, max_size=5)
)
def test_fees_of_units_move_them_and_make_none(ledger, fees, story):
    with ledger.app_context():
        begin(ledger)
        others = (*PEOPLE, COLLECTOR, fractional_fees.OTHER)
        coin = create(*others, tokenType=0, initialSupply=10_000, custom_fees=fees)
        shares = {TREASURY: -300 * len(PEOPLE)} | dict.fromkeys(PEOPLE, 300)
        for amounts in filter(None, (shares, *(shared(*payment) for payment in story))):
            before = held(coin)
            body = bodies.sign(move_units(TREASURY, coin, amounts), TREASURY, *others)
            result = node.submit(body, times.now())
            after = held(coin)
            assert after.total() == 10_000
            assert min(after.values()) >= 0
            assert amounts is not shares or result.result == "SUCCESS"
            moved = {account_id: after[account_id] - before[account_id] for account_id in after}
            assert {who: amount for who, amount in moved.items() if amount} == told(result)


def told(receipt):
    """The units that the record of a transaction says were moved."""
    transaction_id = TransactionId.parse(receipt.transaction_id).dashed
    [row] = queries.select(read(), "transaction_record", transaction_id=transaction_id)
    moved = rows.transaction(records.read(row))["token_transfers"]
    return {each["account"]: each["amount"] for each in moved}
