"""Offers on the sandbox's ledger: created by their bidders, accepted and deleted by anybody."""

from harness import wallets
from harness.cast import ALICE, BOB, MARKET, TOKEN
from hiero_sandbox import conditions
from marketplace.hedera import times, transactions
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import ScheduledSale
from marketplace.ledger import Deadline
from marketplace.market.memos import offer_memo
from marketplace.sandbox import wallet
from marketplace.services import mirror_node, read
from marketplace.store import offers
from marketplace.store.offers import BEFORE_ALL, OfferFilter

DAY_SECONDS = 86_400


def creation(ledger, *, expires_in=DAY_SECONDS, creator=None, memo=None, **fields):
    """The ScheduleCreate of an offer, as a program of somebody may build it."""
    values = dict(token=TOKEN, serial_no=7, seller=ALICE, bidder=BOB, price=300, market=MARKET)
    values |= dict(part_tinybars=0, max_fee_tinybars=50_000_000) | fields
    if memo is None:
        memo = offer_memo(values["token"], values["serial_no"], values["price"], "")
    sale = ScheduledSale(memo=memo, **values)
    body = wallets.new_body(creator or sale.bidder, memo)
    content = body.scheduleCreate
    content.scheduledTransactionBody.CopyFrom(sale.build())
    content.payerAccountID.CopyFrom(transactions.make_account_id(sale.bidder))
    content.memo = memo
    with ledger.sandbox.app_context():
        content.expiration_time.seconds = conditions.now() // times.SECOND + expires_in
    either = content.adminKey.thresholdKey
    either.threshold = 1
    for account in (sale.bidder, sale.seller):
        either.keys.keys.add(ed25519=wallet.public_key(account))
    return body


def schedule(app, ledger, *, creator=None, bidder=BOB, **fields):
    """Create the schedule of an offer, signed by its bidder; returns its id."""
    body = creation(ledger, creator=creator, bidder=bidder, **fields)
    transaction_id = submit(ledger, body, *dict.fromkeys((creator or bidder, bidder)))
    return find_created(app, transaction_id)


def find_created(app, transaction_id):
    with app.app_context():
        rows = mirror_node().list_transactions(TransactionId.require(transaction_id), Deadline(5))
    return next(row.entity_id for row in rows if row.name == "SCHEDULECREATE")


def submit(ledger, body, *signers):
    """Sign a transaction by these accounts, and submit it. Returns its id."""
    content = wallets.seal(body)
    for account in signers:
        content = ledger.sign_bytes(content, account)
    receipt = ledger.submit(content)
    assert receipt.result == "SUCCESS", receipt.result
    return receipt.transaction_id


def about(schedule_id, kind, payer):
    body = wallets.new_body(payer, "")
    getattr(body, kind).scheduleID.CopyFrom(transactions.make_schedule_id(schedule_id))
    return body


def sign(ledger, schedule_id, account=ALICE):
    """Sign a schedule: by default as the owner, who accepts."""
    return submit(ledger, about(schedule_id, "scheduleSign", account), account)


def withdraw(ledger, schedule_id, account=BOB):
    return submit(ledger, about(schedule_id, "scheduleDelete", account), account)


def state(app, schedule_id):
    with app.app_context():
        row = offers.get_offer(read(), schedule_id)
        return row and row["state"]


def list_open(app, nft=(TOKEN, 7)):
    with app.app_context():
        now = times.to_iso(times.now())
        rows = offers.list_open(read(), OfferFilter(*nft), BEFORE_ALL, 100, now)
    return [row["schedule_id"] for row in rows]


def move_clock(ledger, monkeypatch, seconds):
    """Let the ledger, and the service, be so much later."""
    later = times.now() + seconds * times.SECOND
    with ledger.sandbox.app_context():
        conditions.conditions().clock_moved += later - times.now()
    monkeypatch.setattr(times, "now", lambda: later)
