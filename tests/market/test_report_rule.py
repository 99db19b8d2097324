"""The rule of a report: its own table, cell by cell."""

import re

import pytest

from harness.cast import ALICE, BOB, CHARLIE, MARKET, TOKEN
from marketplace.hedera import times
from marketplace.hedera.ids import TransactionId
from marketplace.ledger.objects import LedgerNftTransfer, Transaction
from marketplace.market import report_rule
from marketplace.market.listing_rule import ForSale, NotForSale, Undecided
from marketplace.market.memos import listing_memo, withdrawal_memo
from marketplace.market.reconciler import Reconciliation
from marketplace.market.report_rule import NAMES, ReconciledNft, Report, ReportOutcome, judge

SECOND = times.SECOND
NOW = 1_800_000_000 * SECOND
SIGNED_AT = NOW - 10 * SECOND  # on the ledger
BEFORE, AFTER = SIGNED_AT - SECOND, SIGNED_AT + SECOND
LONG_AGO = NOW - 600 * SECOND
SIGNERS = {"listing": ALICE, "withdrawal": ALICE, "purchase": BOB}
PAYERS = SIGNERS | {"purchase": MARKET}
MEMOS = {
    "listing": listing_memo(TOKEN, 7, 250, "Foo"),
    "withdrawal": withdrawal_memo(TOKEN, 7, "Foo"),
    "purchase": "",
}


def id_of(kind):
    return TransactionId(PAYERS[kind], SIGNED_AT // SECOND, 5)


def prepared(kind, expires_at=NOW + 60 * SECOND):
    dates = {"prepared_at": times.to_iso(LONG_AGO), "expires_at": times.to_iso(expires_at)}
    names = {"kind": kind, "transaction_id": str(id_of(kind)), "seller": ALICE, "price": 250}
    return names | dates


def report(kind, row=None, is_named=True):
    return Report(SIGNERS[kind], MARKET, str(id_of(kind)) if is_named else None, row)


def nft(owner=ALICE, price=0, seen_at=BEFORE):
    """The NFT as facts of a moment show it, listed at that moment for a price, or not listed."""
    verdict = ForSale(price, seen_at) if price else NotForSale("the marketplace may not spend it")
    moment = times.to_iso(seen_at)
    row = {"token": TOKEN, "serial_no": 7, "owner": owner, "is_for_sale": bool(price)}
    row |= {"listing_price": price, "last_listed_at": price and moment}
    row |= {"ledger_at": moment, "ledger_state": "decided"}
    return ReconciledNft(row, Reconciliation(row, row, verdict))


def undecided():
    shown = nft()
    return shown._replace(reconciled=shown.reconciled._replace(verdict=Undecided("it lags")))


def signed(kind, at=SIGNED_AT, **fields):
    moved = [LedgerNftTransfer(TOKEN, 7, ALICE, BOB)] if kind == "purchase" else []
    values = {"name": NAMES[kind], "transaction_id": id_of(kind), "result": "SUCCESS"}
    values |= {"consensus_at": at, "memo": MEMOS[kind].encode(), "nft_transfers": moved}
    return Transaction(**values | fields)


def another(kind):
    return signed(kind, memo=b"hello", nft_transfers=())


def as_it_was(kind):
    """The NFT before the transaction: for sale, unless that lists it."""
    return nft(price=0 if kind == "listing" else 250)


def with_its_effect(kind):
    """By the transaction, and not as the report wants it: listed again since, or sold since."""
    if kind == "listing":
        return nft(price=300, seen_at=AFTER)
    return nft(CHARLIE, seen_at=AFTER)


# The lines of the table, each with the arguments of a case of it.
LINES = {
    "The NFT is as wanted, whatever made it so": lambda kind: (
        report(kind, prepared(kind)),
        nft(price=250 if kind == "listing" else 0, seen_at=AFTER),
        None,
    ),
    "Without id; none was prepared; it is undecided": lambda kind: (
        report(kind, is_named=False),
        undecided(),
        None,
    ),
    "No transaction; none was prepared, nor by a wallet": lambda kind: (
        report(kind),
        as_it_was(kind),
        None,
    ),
    "No transaction; without id; another one owns it": lambda kind: (
        report(kind, prepared(kind), is_named=False),
        nft(CHARLIE),
        None,
    ),
    "No transaction; it may still come": lambda kind: (
        report(kind, prepared(kind)),
        as_it_was(kind),
        None,
    ),
    "No transaction; it never will": lambda kind: (
        report(kind, prepared(kind, expires_at=NOW - SECOND)),
        as_it_was(kind),
        None,
    ),
    "Neither prepared nor ours": lambda kind: (report(kind), as_it_was(kind), another(kind)),
    "The ledger refused it": lambda kind: (
        report(kind, prepared(kind)),
        as_it_was(kind),
        signed(kind, result="TOKEN_IS_PAUSED"),
    ),
    "It is another one, under our id": lambda kind: (
        report(kind, prepared(kind)),
        as_it_was(kind),
        another(kind),
    ),
    "The NFT shows its effect": lambda kind: (
        report(kind, prepared(kind)),
        with_its_effect(kind),
        signed(kind),
    ),
    "It is over three minutes old; nothing is undecided": lambda kind: (
        report(kind, prepared(kind)),
        nft(price=250, seen_at=LONG_AGO - SECOND),
        signed(kind, at=LONG_AGO),
    ),
    "The NFT shows a later change": lambda kind: (
        report(kind, prepared(kind)),
        nft(price=0 if kind == "listing" else 300, seen_at=AFTER),
        signed(kind),
    ),
    "The NFT may show its effect later": lambda kind: (
        report(kind, prepared(kind)),
        as_it_was(kind),
        signed(kind),
    ),
    "It had another effect": lambda kind: (
        report(kind, prepared(kind)),
        nft(price=0 if kind == "listing" else 250, seen_at=LONG_AGO - SECOND),
        signed(kind, at=LONG_AGO),
    ),
}


def read_table():
    """The cells of the table in the module: its lines, kinds and outcomes."""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in report_rule.__doc__.splitlines()
        if line.startswith("| ")
    ]
    [_, *kinds], *cases = lines
    for label, *outcomes in cases:
        for kind, outcome in zip(kinds, outcomes, strict=True):
            yield label, kind, outcome


CELLS = [*read_table()]


def test_the_table_has_every_line_and_kind():
    assert [*dict.fromkeys(label for label, _, _ in CELLS)] == [*LINES]
    assert {kind for _, kind, _ in CELLS} == {*NAMES}


@pytest.mark.parametrize(("label", "kind", "outcome"), [cell for cell in CELLS if cell[2] != "-"])
def test_each_report_is_judged_as_the_table_says(label, kind, outcome):
    judged = judge(kind, *LINES[label](kind), NOW)
    name = judged.name if isinstance(judged, ReportOutcome) else type(judged).__name__
    assert re.fullmatch(f"(Transaction)?{outcome}", name)


def test_an_id_that_a_wallet_gave_a_prepared_transaction_is_awaited():
    awaited = report("listing")._replace(newest=prepared("listing"))
    assert judge("listing", awaited, nft(), None, NOW) is ReportOutcome.PENDING
    late = SIGNED_AT + 200 * SECOND
    assert type(judge("listing", awaited, nft(), None, late)).__name__ == "NotPrepared"


def test_a_lost_race_says_who_has_it_and_that_nothing_was_paid():
    refused = signed("purchase", result="SPENDER_DOES_NOT_HAVE_ALLOWANCE")
    raced = report("purchase", prepared("purchase"))
    lost = judge("purchase", raced, nft(CHARLIE, seen_at=BEFORE), refused, NOW)
    assert lost.message == (
        f"{TOKEN} #7 was sold to somebody else; you paid nothing (the ledger says"
        " SPENDER_DOES_NOT_HAVE_ALLOWANCE)"
    )
    assert lost.errors == {"ledger": {"result": ["SPENDER_DOES_NOT_HAVE_ALLOWANCE"]}}
    kept = judge("purchase", raced, as_it_was("purchase"), refused, NOW)
    assert "Prepare a new purchase" in kept.message
