"""A ledger to try things on: bodies in, receipts out, and what the mirror node shows then."""

import signal

import hypothesis
import pytest

from hiero_sandbox import conditions, database, snapshots, times
from hiero_sandbox.ids import TransactionId
from sandbox.tests import bodies, hapi, world
from sandbox.tests.alone import Alone
from sandbox.tests.bodies import id_of, seal
from sandbox.tests.ledger import Ledger
from sandbox.tests.people import ALICE

# The same cases each time. How long something takes says nothing on a busy machine: no test fails for it.
# Where other tests run too, they have chosen a profile.
if hypothesis.settings.get_current_profile_name() == "default":
    hypothesis.settings.register_profile(
        "patient",
        deadline=None,
        derandomize=True,
        max_examples=20,
        suppress_health_check=[*hypothesis.HealthCheck],
    )
    hypothesis.settings.load_profile("patient")

# A shell ignores SIGINT for what runs in its background, and every process that a test starts would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Memory:
    """The sandbox of all tests of a process, in memory. It begins each of them with the same ledger."""

    def __init__(self):
        self.app = world.make()
        self.app.config.update(BALANCE_QUERIES=False)
        self.config = dict(self.app.config)
        self.beginning = self.app.extensions[database.KEY].copy()

    def begin(self):
        self.app.config.clear()
        self.app.config.update(self.config)
        conditions.init_app(self.app)
        snapshots.init_app(self.app)
        self.app.extensions[database.KEY].replace(self.beginning)
        return self.app


@pytest.fixture(scope="session")
def memory():
    return Memory()


@pytest.fixture
def app(request, memory):
    """A sandbox with an empty ledger, where every id exists. With the parameter "file", it is in a file."""
    if getattr(request, "param", None) == "file":
        return world.make(request.getfixturevalue("tmp_path") / "sandbox.db")
    return memory.begin()


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def ledger(app):
    """What people do on that ledger."""
    return Ledger(app)


@pytest.fixture
def nft(minted):
    return minted


@pytest.fixture
def minted(ledger):
    """Alice has the NFT that the tests move."""
    ledger.mint(bodies.NFT, ALICE, times.now())
    return bodies.NFT


@pytest.fixture
def get(client):
    """The mirror node's answer to a path."""
    return lambda path: client.get(f"/api/v1{path}").json


@pytest.fixture
def follow(get):
    """All rows of a list, page by page."""

    def follow(path, name):
        rows = []
        while path:
            page = get(path)
            rows += page[name]
            path = page["links"]["next"] and page["links"]["next"].removeprefix("/api/v1")
        return rows

    return follow


@pytest.fixture
def balance(get):
    """An account's tinybars."""
    return lambda account_id: get(f"/accounts/{account_id}")["balance"]["balance"]


@pytest.fixture
def call(app):
    """The bytes of HAPI's answer to the bytes of a request, by its path."""
    return hapi.answering(app)


@pytest.fixture
def ask(call):
    """The answer to one of HAPI's queries, and its code."""

    def ask(name, path=hapi.ACCOUNT, now=None, **options):
        return hapi.answer(call(path, hapi.query(name, **options), now=now), name)

    return ask


@pytest.fixture
def submit(ledger):
    """Give a body a new id, sign it with the accounts' keys, or with other keys, and submit it."""

    def submit_body(body, *signers):
        start = body.transactionID.transactionValidStart
        start.seconds, start.nanos = divmod(times.now() - times.SECOND, times.SECOND)
        return ledger.submit(bodies.sign(body, *signers))

    return submit_body


@pytest.fixture
def row(get):
    """The newest row that the mirror node has of a receipt's transaction."""

    def newest(receipt):
        dashed = TransactionId.parse(receipt.transaction_id).dashed
        rows = get(f"/transactions/{dashed}")["transactions"]  # a batch has more, of other ids
        return [each for each in rows if each["transaction_id"] == dashed][-1]

    return newest


@pytest.fixture
def rows(get):
    """All rows that the mirror node has under a body's id."""
    return lambda body: get(f"/transactions/{id_of(seal(body)).dashed}")["transactions"]


@pytest.fixture
def done(submit, row):
    """Submit what succeeds; returns its row."""

    def submit_well(body, *signers):
        receipt = submit(body, *signers)
        assert receipt.result == "SUCCESS"
        return row(receipt)

    return submit_well


@pytest.fixture
def created(done):
    """Submit what creates an account or a token; returns its id."""
    return lambda *submitted: done(*submitted)["entity_id"]


@pytest.fixture
def alone():
    """The sandbox as a program of its own, with known accounts in a ledger in memory."""
    return Alone()
