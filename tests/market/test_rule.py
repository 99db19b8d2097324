"""The rule of a listing, case by case: facts of the ledger in, a verdict out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cast import ALICE, BOB, MARKET, TOKEN
from marketplace.hedera.ids import TransactionId
from marketplace.ledger.objects import History, HistoryEntry, Nft, Transaction
from marketplace.market.listing_rule import ForSale, NftFacts, NotForSale, Undecided, decide

ID = TransactionId(ALICE, 100, 5)
MEMO = b"Listing NFT with 0.0.7001 and Serial Number 7 for 250 HBAR"
APPROVAL, TRANSFER, UPDATE = "CRYPTOAPPROVEALLOWANCE", "CRYPTOTRANSFER", "TOKENUPDATENFTS"


def nft(**fields):
    values = dict(token=TOKEN, serial_no=7, owner=ALICE, spender=MARKET, is_deleted=False)
    return Nft(**values | {"pointer": "", "modified_at": 1000} | fields)


def history(newest_at=1000, name=APPROVAL, at=1000, transaction_id=ID):
    return History(newest_at, HistoryEntry(name, transaction_id, at))


def row(**fields):
    values = dict(name=APPROVAL, transaction_id=ID, result="SUCCESS", memo=MEMO, consensus_at=1000)
    return Transaction(**values | {"nonce": 0, "scheduled": False} | fields)


def facts(nft=nft(), history=history(), transaction=row()):  # noqa: B008
    return NftFacts(nft, history, transaction)


LISTED = ForSale(250, 1000, history().last_event)
CASES = {
    "its owner signed it": (facts(), LISTED),
    "its owner signed it for another marketplace's page": (
        facts(transaction=row(memo=MEMO + b" on Foo\n")), LISTED),
    "its metadata was updated since": (facts(nft(modified_at=2000), history(newest_at=2000)), LISTED),
    "it was burned": (facts(nft(owner=None, is_deleted=True)), "burned"),
    "nobody owns it": (facts(nft(owner=None)), "burned"),
    "its token was deleted": (facts(nft(is_deleted=True)), "its token was deleted"),
    "nobody may spend it": (facts(nft(spender=None)), "may not spend it"),
    "another marketplace may spend it": (facts(nft(spender="0.0.6666")), "may not spend it"),
    "the row alone takes it off": (NftFacts(nft(spender=None)), "may not spend it"),
    "a transfer came later": (facts(history=history(name=TRANSFER)), "a later CRYPTOTRANSFER"),
    "something unheard of came later": (facts(history=history(name="X")), "a later X"),
    "a stranger paid for it, and wrote the memo": (
        facts(transaction=row(transaction_id=TransactionId(BOB, 100, 5))), f"paid by {BOB}"),
    "a schedule executed it": (facts(transaction=row(scheduled=True)), "a schedule or a contract"),
    "a contract made it": (facts(transaction=row(nonce=1)), "a schedule or a contract"),
    "something else made it": (facts(transaction=row(name="CONTRACTCALL")), "a schedule or a contract"),
    "the memo names no price": (facts(transaction=row(memo=b"hello")), "names no price"),
    "the memo is empty": (facts(transaction=row(memo=b"")), "names no price"),
    "the memo names another NFT": (
        facts(transaction=row(memo=MEMO.replace(b"Number 7", b"Number 8"))), "names no price"),
    "the memo names another token": (
        facts(transaction=row(memo=MEMO.replace(b"7001", b"7002"))), "names no price"),
    "the price is nothing": (
        facts(transaction=row(memo=MEMO.replace(b"250", b"0"))), "names no price"),
    "the price is more than there is": (
        facts(transaction=row(memo=MEMO.replace(b"250", b"50000000001"))), "names no price"),
    "the price is followed by more": (facts(transaction=row(memo=MEMO + b"s")), "names no price"),
    "the row is newer than the history": (facts(nft(modified_at=2000)), None),
    "the history is newer than the row": (facts(history=history(newest_at=2000)), None),
    "there is no history": (NftFacts(nft()), None),
    "the history is empty": (NftFacts(nft(), History(None, None)), None),
    "the history is too long": (NftFacts(nft(), History(1000, None, is_cut=True)), "updated too often"),
    "the history tells of updates only": (NftFacts(nft(), History(1000, None)), None),
    "the transaction is not there yet": (facts(transaction=None), None),
    "the transaction is of another moment": (facts(transaction=row(consensus_at=999)), None),
    "the transaction failed": (facts(transaction=row(result="INVALID_SIGNATURE")), None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_its_verdict(case):
    given_facts, expected = CASES[case]
    verdict = decide(given_facts, MARKET)
    if expected is None:
        assert isinstance(verdict, Undecided)
    elif isinstance(expected, str):
        assert isinstance(verdict, NotForSale)
        assert expected in verdict.reason
    else:
        assert verdict == expected


def few(*values):
    return st.sampled_from(values)


rows = st.builds(
    row,
    name=few(APPROVAL, TRANSFER, "SCHEDULECREATE"),
    transaction_id=few(ID, TransactionId(BOB, 100, 5)),
    result=few("SUCCESS", "DUPLICATE_TRANSACTION", "INVALID_SIGNATURE"),
    memo=few(MEMO, MEMO + b" on Foo", b"", MEMO.replace(b"250", b"1")),
    consensus_at=few(999, 1000),
    nonce=few(0, 1),
    scheduled=st.booleans(),
)
any_facts = st.builds(
    NftFacts,
    st.builds(
        nft,
        owner=few(ALICE, BOB, None),
        spender=few(MARKET, None, "0.0.6666"),
        is_deleted=st.booleans(),
        modified_at=few(999, 1000),
    ),
    st.none()
    | st.builds(history, newest_at=few(999, 1000), name=few(APPROVAL, TRANSFER), at=few(999, 1000)),
    st.none() | rows,
)


@given(any_facts)
def test_nothing_is_for_sale_that_its_owner_has_not_signed(facts):
    verdict = decide(facts, MARKET)
    if isinstance(verdict, ForSale):
        assert facts.nft.owner is not None and facts.nft.spender == MARKET
        assert not facts.nft.is_deleted
        assert facts.nft.modified_at == facts.history.newest_at
        row = facts.transaction
        assert row.consensus_at == facts.history.last_event.consensus_at == verdict.listed_at
        assert (row.name, row.result, row.nonce, row.scheduled) == (APPROVAL, "SUCCESS", 0, False)
        assert row.payer == facts.nft.owner
        assert b"for %d HBAR" % verdict.listing_price in row.memo


@given(any_facts)
def test_fewer_facts_cannot_show_what_is_for_sale(facts):
    """A replica that lags can make it wait; it can neither list it otherwise nor take it off."""
    if isinstance(decide(facts, MARKET), ForSale):
        for fewer in (facts._replace(history=None), facts._replace(transaction=None)):
            assert isinstance(decide(fewer, MARKET), Undecided)
        older = facts._replace(history=facts.history._replace(newest_at=1))
        assert isinstance(decide(older, MARKET), Undecided)


@given(any_facts)
def test_for_another_marketplace_nothing_of_it_is_for_sale(facts):
    if facts.nft.spender == MARKET:
        assert isinstance(decide(facts, "0.0.1234"), NotForSale)
