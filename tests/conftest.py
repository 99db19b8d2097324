"""A fixed cast: Alice sells, Bob buys, Charlie must be refused. A new database and sandbox per test."""

import base64
import re
import signal
import uuid
from collections import Counter
from contextlib import closing
from functools import cache
from tempfile import TemporaryDirectory

import hypothesis
import pytest
import sqlite_utils
from sqlite_utils.utils import sqlite3
from werkzeug.routing import Rule

from hiero_sandbox import database as ledger_database
from hiero_sandbox import wallet
from hiero_sandbox.ledger import accounts, consensus, envelopes
from marketplace import create_app
from marketplace.api.error_reasons import ELSEWHERE
from marketplace.api.fields import reasons
from marketplace.hedera import times
from marketplace.ledger import mirror as mirror_node
from marketplace.market import add_nft, events, listings, reconciler
from marketplace.market.prepare import Ask
from marketplace.services import services
from marketplace.store import access_tokens, token_usage
from marketplace.store.database import read, write
from marketplace.watcher import enrichment
from marketplace.watcher.enrichment import Enricher
from marketplace.watcher.found import Limits
from marketplace.watcher.strangers import decoder, enrich
from stress import wallets
from tests.engines import (
    copy_template,
    database_url,
    databases,
    make_template,
    running_on,
)
from tests.mirror import Mirror
from tests.postgresql import new_database

ALICE, BOB, CHARLIE = "0.0.1001", "0.0.1002", "0.0.1003"
MARKET = "0.0.9001"  # the marketplace's account
TOKEN = "0.0.7001"
KEYS = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
TESTNET = {"NETWORK": "testnet", "ACCOUNT_ID": MARKET}

# The same cases each time. How long something takes says nothing on a busy machine: no test fails for it.
hypothesis.settings.register_profile(
    "patient",
    deadline=None,
    derandomize=True,
    suppress_health_check=[*hypothesis.HealthCheck],
)
hypothesis.settings.load_profile("patient")

# A shell ignores SIGINT for what runs in its background, and every process that a test starts would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_compile, _compiled = Rule.compile, {}
COMPILED = ("_parts", "_trace", "_converters", "arguments", "_build", "_build_unknown")


def compile_once(rule):
    """Each app has the same routes. To compile them is most of what an app costs a test."""
    key = f"{rule.rule} {rule.defaults} {rule.subdomain} {rule.merge_slashes}"
    if key not in _compiled:
        _compile(rule)
        _compiled[key] = {name: getattr(rule, name) for name in COMPILED}
    vars(rule).update(_compiled[key])


Rule.compile = compile_once


def pytest_report_header():
    version = getattr(sqlite_utils, "__version__", "4")
    return f"SQLite {sqlite3.sqlite_version}, sqlite-utils {version}"


@pytest.fixture(scope="session", autouse=True)
def lasting_databases():
    """What all tests of this process copy is gone after them."""
    with databases():
        yield


@pytest.fixture(scope="module", autouse=True)
def engine(request, lasting_databases):
    """The engine of this test, by name: SQLite, unless it is one for both engines."""
    engine = getattr(request, "param", "sqlite")
    with running_on(engine):
        yield engine


@pytest.fixture(autouse=True)
def own_databases(engine):
    """What a test makes of databases is gone after it."""
    with databases():
        yield


def pytest_collection_modifyitems(items):
    """The browser's tests first: they share what takes long to set up, and who is idle takes from the end."""
    items.sort(key=lambda item: "browser" not in item.fixturenames)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say after all else what was not tested, and what to run so that it is next time."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count} skipped: {reason}")


def settings(folder):
    return {"DATABASE_URL": database_url(folder), "DATA_DIR": str(folder)}


def on_testnet(folder, mirror_url="http://127.0.0.1:9", gateway_url="http://127.0.0.1:9", **more):
    """The service on a real network, with these servers for a mirror node and a gateway."""
    own = {"MIRROR_NODE_URL": mirror_url, "IPFS_GATEWAYS": f"{gateway_url}/ipfs"}
    return create_app(**settings(folder) | TESTNET | own | more)


def authorized_client(app, *scopes):
    """A client whose every request carries an access token with these scopes."""
    with app.app_context():
        token = access_tokens.create(f"test {uuid.uuid4()}", scopes, seconds=3600)
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return client


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A minute for what has seconds in the service. The tests of a time-out set it to what they need."""
    monkeypatch.setattr(reconciler, "LEDGER_SECONDS", 60)
    monkeypatch.setattr(enrichment, "QUICK", Limits(60, 60))
    monkeypatch.setattr(enrichment, "LONG", Limits(60, 60))
    monkeypatch.setattr(mirror_node, "FIRST_PAUSE_SECONDS", 0.01)
    # Nothing is written behind a test's back.
    monkeypatch.setattr(token_usage, "PAUSE_SECONDS", 3600)


@pytest.fixture
def postgresql_url():
    """An empty database on a PostgreSQL server: its address."""
    with new_database() as url:
        yield url


@pytest.fixture(scope="module")
def template(tmp_path_factory, engine):
    """A folder with the databases of a service that was started once."""

    def make(folder):
        app = create_app(**settings(folder))
        services(app).database.close()
        services(app).sandbox.app.extensions[ledger_database.KEY].close()

    return make_template(tmp_path_factory.mktemp("template"), make)


@pytest.fixture
def app(tmp_path, template):
    copy_template(template, tmp_path)
    app = create_app(**settings(tmp_path))
    services(app).enrich = enriching(app)
    return app


@pytest.fixture(scope="module")
def idle_client(tmp_path_factory, engine):
    """A client of one service for a whole module: for requests that change nothing."""
    app = create_app(**settings(tmp_path_factory.mktemp("idle")))
    return authorized_client(app, "read", "write")


@pytest.fixture
def client(app):
    return authorized_client(app, "read", "write")


def enriching(app):
    """What finds metadata and image as the watcher's processes do, in this one."""
    sandbox = services(app).sandbox
    adapters = sandbox.gateway_adapters if sandbox else dict
    resolver = enrich.make_resolver(app.config, adapters)

    def find(pointer, limits):
        fetched, content = enrich.fetch(resolver, pointer, limits.fetching)
        return fetched.with_image_of(decoder.decode(content)) if content else fetched

    return find


def completing(app):
    """A function that completes what is due, as the watcher does, but in this process."""

    def complete():
        with closing(Enricher(app, enriching(app))) as enricher:
            return enricher.drain(60)

    return complete


@pytest.fixture
def complete(app):
    """Complete the NFTs that are due."""
    return completing(app)


@pytest.fixture
def nft(app, complete):
    """An NFT of Alice's, stored, complete and not listed."""
    with app.app_context():
        add_nft.add(ALICE, TOKEN, 7)
    complete()
    return TOKEN, 7


@pytest.fixture
def long_ago(app, ledger):
    """A listing of ten minutes ago, when it can't be valid any more: its bytes and the moment."""
    then = times.now() - 600 * times.SECOND
    ledger.mint((TOKEN, 7), ALICE, then - times.SECOND)
    with app.app_context():
        add_nft.add(ALICE, TOKEN, 7)
        ask = Ask(ALICE, TOKEN, 7, "extwallet")
        return listings.prepare_listing(ask, 250, then).transaction, then


@pytest.fixture
def mirror(app):
    """The mirror node, whose answers can be altered."""
    return Mirror(app)


@pytest.fixture
def asked(mirror):
    """The paths that the mirror node and the gateway are asked for, one after the other."""
    return mirror.asked


@pytest.fixture
def alter(mirror):
    """Change what the mirror node answers about paths that match a pattern."""
    return mirror.alter


@pytest.fixture
def ledger(app):
    return Ledger(app)


class Ledger:
    """What people do on the sandbox's ledger, behind the service's back."""

    def __init__(self, app):
        self.sandbox = services(app).sandbox.app

    def sign(self, byte_array, account_id=ALICE):
        return self.sign_bytes(base64.b64decode(byte_array), account_id)

    def sign_bytes(self, content, account_id=ALICE):
        return wallet.sign(account_id, content)

    def submit(self, content, now=None):
        with self.sandbox.app_context():
            return consensus.submit(content, now or times.now())

    def sign_and_submit(self, byte_array, account_id=ALICE):
        receipt = self.submit(self.sign(byte_array, account_id))
        assert receipt.result == "SUCCESS"
        return receipt.transaction_id

    def mint(self, nft, owner, then):
        with self.sandbox.app_context():
            consensus.mint(*nft, owner, then)

    def submit_altered(self, byte_array, memo=None, transfer_to=None):
        """Submit another transaction of Alice's under the id of a prepared one."""
        body = wallets.body_of(base64.b64decode(byte_array))
        if memo is not None:
            body.memo = memo
        if transfer_to is not None:
            [approval] = body.cryptoApproveAllowance.nftAllowances
            moved = body.cryptoTransfer.tokenTransfers.add(token=approval.tokenId)
            receiver = wallets.account(transfer_to)
            moved.nftTransfers.add(
                senderAccountID=approval.owner, receiverAccountID=receiver, serialNumber=7
            )
        receipt = self.submit(self.sign_bytes(wallets.seal(body)))
        assert receipt.result == "SUCCESS"

    def approve(self, nft, owner, spender, memo=""):
        """An approval that was not prepared here, as another application would make it."""
        self._execute(wallets.approval(owner, nft, spender, memo), owner)

    def withdraw(self, nft, owner):
        self._execute(wallets.withdrawal(owner, nft), owner)

    def _execute(self, body, payer):
        assert self.submit(self.sign_bytes(wallets.seal(body), payer)).result == "SUCCESS"

    def balance(self, account_id):
        """An account's tinybars."""
        with self.sandbox.app_context():
            return accounts.balance(ledger_database.read(), account_id)

    def change_account(self, account_id, **fields):
        with self.sandbox.app_context(), ledger_database.write() as db:
            accounts.change(db, account_id, times.now(), **fields)

    def hand_over(self, nft, account_id=BOB):
        with self.sandbox.app_context():
            return consensus.hand_over(*nft, account_id, times.now())

    def update_metadata(self, nft, metadata=None):
        with self.sandbox.app_context():
            return wallets.update_metadata(*nft, times.now(), metadata)

    def delete_token(self, token=TOKEN):
        with self.sandbox.app_context():
            return wallets.delete_token(token, times.now())


@pytest.fixture
def lister(client, complete):
    """List an NFT the whole way; returns the transaction id."""

    def lister(nft, listing_price=250, account_id=ALICE, add=True):
        keys = {"accountId": account_id, "tokenId": nft[0], "serialNo": nft[1]}
        if add:
            assert client.post("/v1/add", json=keys).status_code == 200
            complete()
        return list_nft(client, listing_price, **keys)

    return lister


SALE = {
    "kind": "SOLD", "token": TOKEN, "serial_no": 7, "from_account": ALICE, "to_account": BOB, "price": 250,
    "previous_price": 240, "transaction_id": "0.0.9001@1763640000.000000001",
    "consensus_at": "2026-11-20T12:00:00.123456789Z", "seen_at": "2026-11-20T12:00:02.000000000Z",
}  # fmt: skip


def tell(app, *changes):
    """Insert events, as the reconciler does: sales that are changed so."""
    with app.app_context(), write() as db:
        events.insert(db, [SALE | change for change in changes])


def shown(client, nft=(TOKEN, 7)):
    """An NFT as the API shows it."""
    return client.get(f"/v1/nft/{nft[0]}/{nft[1]}").json


def report(client, transaction_id=None, **fields):
    named = {"transactionId": transaction_id} if transaction_id else {}
    return client.post("/v1/comingsoon", json=KEYS | named | fields)


def write_sql(app, sql, **values):
    """Write to the service's database what the service itself would not."""
    with app.app_context(), write() as db:
        db.execute(sql, values)


@pytest.fixture
def listed(nft, lister):
    """That NFT, for sale at 250 HBAR."""
    lister(nft, add=False)
    return nft


@pytest.fixture
def expire(app):
    """Let the time be over of all that was prepared and not submitted."""

    def expire():
        then = times.to_iso(times.now() - 600 * times.SECOND)
        write_sql(app, "UPDATE prepared_transaction SET expires_at = :then", then=then)

    return expire


@pytest.fixture
def buy(client):
    """Ask for the transaction by which an account buys an NFT."""

    def buy(nft=(TOKEN, 7), account_id=BOB, client=client, **fields):
        keys = {"accountId": account_id, "tokenId": nft[0], "serialNo": nft[1]}
        return client.post("/v1/buy/extwallet", json=keys | fields)

    return buy


def list_nft(client, listing_price=5, **keys):
    """Add an NFT, list it and report it; returns the transaction's id."""
    keys, ledger = KEYS | keys, Ledger(client.application)
    assert client.post("/v1/add", json=keys).status_code == 200
    prepared = client.post("/v1/list/extwallet", json=keys | {"listingPrice": listing_price})
    transaction_id = ledger.sign_and_submit(prepared.json["byteArray"], keys["accountId"])
    assert client.post("/v1/comingsoon", json=keys).json == {"result": "OK"}
    return transaction_id


def list_purchases(app):
    """The purchases that were prepared, the oldest first."""
    sql = """
        SELECT * FROM prepared_transaction WHERE kind = 'purchase'
        ORDER BY prepared_at, transaction_id
    """
    with app.app_context():
        return [dict(row) for row in read().execute(sql).fetchall()]


def opened(response):
    """The one transaction that was handed out: its body, its id, and who has signed it."""
    [transaction] = envelopes.read_list(base64.b64decode(response.json["byteArray"]))
    return envelopes.open_transaction(transaction)


def handed_out(response, account_id):
    """The transaction of an answer that has nothing else but whose signature it needs."""
    assert response.status_code == 200, response.text
    assert response.json == {
        "byteArray": response.json["byteArray"],
        "metadata": {"accountToSign": account_id, "returnTransaction": False},
    }
    return opened(response)


@cache
def documented_errors():
    """Of each operation: its method, a pattern of its address, and the reasons of each status."""
    with TemporaryDirectory() as folder:
        app = create_app(DATA_DIR=folder, DATABASE_URL=f"sqlite:///{folder}/market.db")
        document = app.test_client().get("/openapi.json").json
    responses = document["components"]["responses"]
    found = []
    for path, item in document["paths"].items():
        address = re.compile(re.sub("{[^}]+}", "[^/]+", path) + "$")
        for method, operation in item.items():
            named = {
                int(status): responses[answer["$ref"].rpartition("/")[2]].get("content", {})
                for status, answer in operation["responses"].items()
                if "$ref" in answer
            }
            known = {
                status: {*content["application/json"]["examples"]}
                for status, content in named.items()
                if content
            }
            found.append((method.upper(), address, known))
    return found


def assert_documented(request, status, reason):
    """The OpenAPI document says that the operation, if it is one, may answer with this reason."""
    for method, address, known in documented_errors():
        if method == request.method and address.search(request.path) and reason not in ELSEWHERE:
            assert reason in known.get(status, ()), (method, request.path, status, reason)


def assert_error(response, status, *words):
    """The one shape of every error, and words that its sentence must hold."""
    assert response.status_code == status, response.text
    assert response.content_type == "application/json"
    body = response.json
    assert body.keys() - {"errors"} == {"code", "status", "message", "reason"}
    assert body["code"] == status
    assert body["reason"] in reasons()
    assert_documented(response.request, status, body["reason"])
    for word in words:
        assert str(word) in body["message"], body["message"]
    return body
