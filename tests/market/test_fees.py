"""How a purchase's fee comes to be known: reserved at first, then what the ledger charged, or nothing."""

from decimal import Decimal

import pytest

from harness.apps import write_sql
from harness.cast import BOB, CHARLIE, MARKET, TOKEN
from harness.mirror import Mirror
from harness.serving import ROOT
from hiero_sandbox.database import read as read_ledger
from hiero_sandbox.ledger import envelopes
from hiero_sandbox.ledger import network_fees as ledger_fees
from hiero_sandbox.ledger.consensus import NODE
from marketplace.hedera import signatures, times
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import SoldNft, build_purchase_body
from marketplace.sandbox import wallet
from marketplace.watcher import maintenance
from marketplace.watcher.follow import Follower
from tests.engines import both_engines
from tests.market.selling import HBAR, MOST, kill_while_submitting


@pytest.mark.parametrize("is_behind", [True, False])
def test_the_watcher_settles_what_nobody_reports(market, is_behind):
    """One purchase that the ledger has, and one whose request was killed before it was submitted."""
    had = market.balance()
    market.submit_unseen(market.buy(market.list_one()))
    kill_while_submitting(market, market.buy(market.list_one(), CHARLIE), CHARLIE)
    market.age(150 if is_behind else 190)
    market.sync()
    charged = had - market.balance()
    assert market.fees() == (charged, MOST if is_behind else 0)


@both_engines
def test_a_mirror_node_that_is_behind_settles_nothing_as_free(market):
    market.submit_unseen(market.buy(market.list_one()))
    market.age(190)
    mirror = Mirror(market.app)
    mirror.set_present(times.now() - 30 * times.SECOND)
    mirror.alter("/transactions$", lambda document: document["transactions"].clear())
    market.sync()
    assert market.fees() == (0, MOST)


def test_a_fee_that_the_ledger_shows_after_all_counts(market):
    """It was taken for one that never came, as a replica lagged by more than is allowed."""
    had = market.balance()
    market.submit_unseen(market.buy(market.list_one()))
    market.age(270)
    is_behind = [True]

    def leave_out(document):
        if is_behind[0]:
            document["transactions"] = []

    Mirror(market.app).alter("/transactions$", leave_out)
    market.sync()
    assert market.fees() == (0, 0)
    is_behind[0] = False
    market.follow()
    charged = had - market.balance()
    assert charged > 0
    assert market.fees() == (charged, 0)


def test_a_fee_of_before_the_first_watcher_counts(market):
    write_sql(market.app, "DELETE FROM follow")
    had = market.balance()
    market.submit_unseen(market.buy(market.list_one()))
    market.follower = Follower()
    for _ in range(3):
        market.follow()
    market.settle()
    charged = had - market.balance()
    assert charged > 0
    assert market.fees() == (charged, 0)


def test_a_fee_that_makes_no_sense_is_logged(market, caplog):
    """It neither ends the watcher nor buying."""
    market.submit_unseen(market.buy(market.list_one()))
    market.age(190)

    def overdo(document):
        for row in document["transactions"]:
            row["charged_tx_fee"] = 2**63 - 1

    mirror = Mirror(market.app)
    mirror.alter("/transactions$", overdo)
    market.sync()
    mirror.heal()
    assert "makes no sense: charged_tx_fee" in caplog.text
    assert market.buy(market.list_one(), CHARLIE).status_code == 200


def test_old_fees_are_deleted(market):
    market.submit(market.buy(market.list_one()))
    market.settle()
    assert len(market.rows()) == 1
    market.age(maintenance.KEPT_SECONDS)
    market.sync()
    assert market.rows() == []


@both_engines
def test_a_clock_that_is_hours_ahead_forgets_no_fee(market):
    """Or the machine of a watcher that is set to the wrong time zone would give the hour's budget back."""
    market.submit(market.buy(market.list_one()))
    market.settle()
    charged, _ = market.fees()
    ahead = maintenance.KEPT_SECONDS + 600
    market.age(ahead)
    then = times.to_iso(times.now() - ahead * times.SECOND)
    write_sql(market.app, "UPDATE follow SET fresh_at = :then", then=then)
    with market.app.app_context():
        maintenance.delete_prepared()
    assert [row["fee_tinybars"] for row in market.rows()] == [charged]


# What docs/buying.md says of fees

PAGE = (ROOT / "docs/buying.md").read_text()
TABLE = {
    cells[0]: cells[1]
    for line in PAGE.splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 3
}


def usd(content):
    signed = envelopes.open_transaction(envelopes.read_list(content)[0])
    return ledger_fees.estimate(read_ledger(), NODE.fee_of(signed.body), signed).normalize()


def signed_purchase(token=TOKEN, part=0, others=()):
    body = build_purchase_body(
        nfts=[SoldNft(token, 10**6, BOB, 5), *others], buyer=CHARLIE, fee_basis_points=part,
        node_account_id="0.0.3", transaction_id=TransactionId(MARKET, 1_790_000_000, 5),
        memo="m" * 100, max_fee_tinybars=HBAR, valid_seconds=60,
    )  # fmt: skip
    content = signatures.write(body, [signatures.KeySignature.of_key(bytes(32), bytes(64))])
    return wallet.sign(CHARLIE, content)


def test_the_table_of_fees_is_computed(ledger):
    with ledger.sandbox.app_context():
        plain = usd(signed_purchase())
        assert plain == Decimal(TABLE["A purchase, successful or failed"])
        of_royalties = usd(signed_purchase(token="0.0.5002"))
        assert of_royalties == Decimal(TABLE["With royalties"])
        more = TABLE["With `SALE_FEE_BASIS_POINTS`"]
        assert more == f"{usd(signed_purchase(part=100)) - plain:f} more"
        of_two = usd(signed_purchase(others=[SoldNft("0.0.7002", 1, "0.0.1004", 5)]))
        more = TABLE["Each further seller and collection in a basket"]
        assert more == f"{(of_two - plain) / 2:f} more"
        assert usd(signed_purchase(others=[SoldNft(TOKEN, 1, BOB, 5)])) == plain
