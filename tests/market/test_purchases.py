"""Handing in a purchase: what is signed by us, when, and how often it is charged."""

import base64
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.basic_types_pb2 import SignatureMap, SignaturePair
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from harness import wallets
from harness.apps import authorized_client, write_sql
from harness.cast import ALICE, BOB, CHARLIE, MARKET, TOKEN
from harness.mirror import Mirror
from marketplace.hedera import times
from marketplace.market.buying.fees import note_balance
from marketplace.sandbox import wallet
from tests.actions import hand_in, list_nft
from tests.answers import assert_error, opened
from tests.engines import both_engines
from tests.market.selling import HBAR, MOST, kill_while_submitting


@pytest.fixture
def serial_no(market):
    """Of an NFT that is for sale."""
    return market.list_one()


def encode(content):
    return base64.b64encode(content).decode()


def signed_by(market, r, account_id=BOB):
    """The transaction as the demo wallet returns it, opened."""
    content = market.ledger.sign(r.json["byteArray"], account_id)
    [transaction] = TransactionList.FromString(content).transaction_list
    return SignedTransaction.FromString(transaction.signedTransactionBytes)


@both_engines
def test_it_works(market, serial_no):
    before = {account: market.balance(account) for account in (ALICE, BOB, MARKET)}
    prepared = market.buy(serial_no)
    assert market.rows() == []
    assert hand_in(market.client, prepared).json == {"result": "OK"}
    assert market.balance(BOB) == before[BOB] - 5 * HBAR
    assert market.balance(ALICE) == before[ALICE] + 5 * HBAR
    charged = before[MARKET] - market.balance(MARKET)
    assert 0 < charged < HBAR
    assert market.fees() == (charged, 0)
    [row] = market.rows()
    assert (row["account_id"], row["seller"], row["price"]) == (BOB, ALICE, 5)
    assert (row["is_settled"], row["is_sold"], row["signed"]) == (1, 1, None)


def list_of(signed):
    transaction = Transaction(signedTransactionBytes=signed.SerializeToString())
    return {"signed": TransactionList(transaction_list=[transaction]).SerializeToString()}


def whole(signed):
    return {
        "signed": Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()
    }


def old(signed):
    return {
        "signed": Transaction(bodyBytes=signed.bodyBytes, sigMap=signed.sigMap).SerializeToString()
    }


def apart(signed):
    unsigned = SignedTransaction(bodyBytes=signed.bodyBytes, sigMap=SignatureMap())
    signatures = encode(signed.sigMap.SerializeToString())
    return list_of(unsigned) | {"signatureMap": signatures}


def as_java_writes_it(signed):
    """Without zeros, which Java leaves out."""
    body = TransactionBody.FromString(signed.bodyBytes).SerializeToString()
    assert len(body) < len(signed.bodyBytes)
    key = wallet.private_key(BOB)
    pair = SignaturePair(pubKeyPrefix=key.public_key().to_bytes_raw(), ed25519=key.sign(body))
    return list_of(SignedTransaction(bodyBytes=body, sigMap=SignatureMap(sigPair=[pair])))


def shortened(signed):
    """The .NET SDK sends the first six bytes of a public key."""
    [pair] = signed.sigMap.sigPair
    pair.pubKeyPrefix = pair.pubKeyPrefix[:6]
    return list_of(signed)


def twice(signed):
    signed.sigMap.sigPair.extend([*signed.sigMap.sigPair])
    return list_of(signed)


def with_junk(signed):
    for number in range(11):
        signed.sigMap.sigPair.add(pubKeyPrefix=bytes([number]), ed25519=bytes(64))
    return list_of(signed)


FORMS = [list_of, whole, old, apart, as_java_writes_it, shortened, twice, with_junk]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_that_wallets_return_is_read(market, serial_no, form):
    market.submit(market.buy(market.list_one()))  # from then on, Bob's key is known
    before = market.balance()
    r = market.buy(serial_no)
    fields = form(signed_by(market, r))
    assert hand_in(market.client, r, **fields).json == {"result": "OK"}
    # Of two signatures, whatever else was handed in: $0.0010, at ten cents an HBAR.
    assert before - market.balance() < 1_200_000


@pytest.mark.parametrize(
    "content", [b"", b"\x0a", b"text", bytes(100), TransactionList().SerializeToString()]
)
def test_what_is_no_transaction_is_a_422(market, serial_no, content):
    body = {"accountId": BOB, "tokenId": TOKEN, "serialNo": serial_no}
    r = market.client.post("/v1/comingsoon", json=body | {"signedTransaction": encode(content)})
    if content:
        assert_error(r, 422, "signedTransaction must be a signed transaction")
    else:
        assert r.status_code in (404, 422)


@pytest.mark.parametrize(
    "start", [{"seconds": -5}, {"seconds": 2**63 - 1}, {"nanos": -1}, {"nanos": 2**31 - 1}]
)
def test_an_impossible_id_is_a_422(market, serial_no, start):
    r = market.buy(serial_no)
    signed = altered(
        market,
        r,
        lambda body: [
            setattr(body.transactionID.transactionValidStart, name, value)
            for name, value in start.items()
        ],
    )
    assert_error(hand_in(market.client, r, signed=signed), 422, "transaction ID is impossible")


def altered(market, r, change):
    """The prepared purchase, changed and then signed by its buyer."""
    body = wallets.body_of(base64.b64decode(r.json["byteArray"]))
    change(body)
    return market.ledger.sign_bytes(wallets.seal(body), BOB)


def pay_less(body):
    for amount in body.cryptoTransfer.transfers.accountAmounts:
        amount.amount //= 5


def pay_another(body):
    [seller] = [each for each in body.cryptoTransfer.transfers.accountAmounts if each.amount > 0]
    seller.accountID.CopyFrom(wallets.account(CHARLIE))


ALTERATIONS = {
    "price": pay_less,
    "seller": pay_another,
    "memo": lambda body: setattr(body, "memo", "hello"),
    "fee": lambda body: setattr(body, "transactionFee", 10 * HBAR),
    "duration": lambda body: setattr(body.transactionValidDuration, "seconds", 60),
    "node": lambda body: body.nodeAccountID.CopyFrom(wallets.account("0.0.77")),
    "payer": lambda body: body.transactionID.accountID.CopyFrom(wallets.account(BOB)),
    "start": lambda body: setattr(
        body.transactionID.transactionValidStart, "seconds", times.now() // times.SECOND + 100
    ),
    "nonce": lambda body: setattr(body.transactionID, "nonce", 1),
    "unknown field": lambda body: body.MergeFromString(b"\xfa\x7f\x01x"),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_another_transaction_than_the_prepared_one_is_refused(market, serial_no, name):
    before = market.balance()
    r = market.buy(serial_no)
    signed = altered(market, r, ALTERATIONS[name])
    answer = hand_in(market.client, r, signed=signed)
    assert answer.status_code in (404, 409)
    assert answer.json["reason"] in ("NOT_AS_PREPARED", "PRICE_CHANGED", "NOT_PREPARED")
    assert market.rows() == []
    assert market.balance() == before


def test_a_body_in_two_parts_is_refused(market, serial_no):
    """Some parsers merge the parts, and others read the second one alone."""
    r = market.buy(serial_no)
    signed = signed_by(market, r)
    body = TransactionBody.FromString(signed.bodyBytes)
    one, other = TransactionBody(), TransactionBody()
    one.CopyFrom(body)
    one.ClearField("memo")
    other.memo = body.memo
    content = one.SerializeToString() + other.SerializeToString()
    assert TransactionBody.FromString(content) == body
    key = wallet.private_key(BOB)
    pair = SignaturePair(pubKeyPrefix=key.public_key().to_bytes_raw(), ed25519=key.sign(content))
    in_parts = SignedTransaction(bodyBytes=content, sigMap=SignatureMap(sigPair=[pair]))
    answer = hand_in(market.client, r, **list_of(in_parts))
    assert_error(answer, 409, "NOT_AS_PREPARED")


def test_the_nft_and_the_buyer_of_the_body_are_those_of_the_call(market):
    first, second = market.list_one(), market.list_one()
    r = market.buy(first)
    signed = encode(market.ledger.sign(r.json["byteArray"], BOB))
    for change in ({"serialNo": second}, {"accountId": CHARLIE}):
        body = {"accountId": BOB, "tokenId": TOKEN, "serialNo": first, "signedTransaction": signed}
        answer = market.client.post("/v1/comingsoon", json=body | change)
        assert_error(answer, 409, "NOT_AS_PREPARED")
    assert market.rows() == []


# Signatures


def test_it_needs_the_buyers_signature(market, serial_no):
    market.submit(market.buy(market.list_one()))  # from then on, Bob's key is known
    rows = market.rows()
    r = market.buy(serial_no)
    for signed in (
        base64.b64decode(r.json["byteArray"]),
        market.ledger.sign(r.json["byteArray"], CHARLIE),
    ):
        answer = hand_in(market.client, r, signed=signed)
        assert_error(answer, 409, "SIGNATURE_INVALID", f"not signed by {BOB}")
    assert market.rows() == rows
    assert hand_in(market.client, r).json == {"result": "OK"}


@both_engines
def test_without_a_valid_signature_only_the_buyers_key_is_looked_up(market, serial_no):
    """So a stranger who repeats such bytes keeps nobody from the mirror node."""
    market.submit(market.buy(market.list_one()))  # from then on, Bob's key is known
    r = market.buy(serial_no)
    unsigned, mirror = base64.b64decode(r.json["byteArray"]), Mirror(market.app)
    altered = wallets.body_of(unsigned)
    altered.memo = "hello"
    for content, asked in (
        (unsigned, []),
        (market.ledger.sign_bytes(wallets.seal(altered), BOB), []),
        (market.ledger.sign(r.json["byteArray"], CHARLIE), [f"/accounts/{BOB}"]),
    ):
        for _ in range(3):
            mirror.asked.clear()
            assert hand_in(market.client, r, signed=content).status_code == 409
            assert mirror.asked == asked
    mirror.asked.clear()
    assert hand_in(market.client, r).json == {"result": "OK"}
    of_buyer = [path for path in mirror.asked if path == f"/accounts/{BOB}"]
    assert len(of_buyer) == 1


# What has changed between preparing and handing in


def raise_price(market, serial_no):
    list_nft(market.client, 6, serialNo=serial_no)


def sell(market, serial_no):
    market.ledger.change_account(CHARLIE, balance=10_000 * HBAR)
    assert market.submit(market.buy(serial_no, CHARLIE), CHARLIE).result == "SUCCESS"


CHANGES = {
    "raised": (raise_price, "PRICE_CHANGED"),
    "withdrawn": (
        lambda market, serial_no: market.ledger.withdraw((TOKEN, serial_no), ALICE),
        "NOT_LISTED",
    ),
    "sold": (sell, "NOT_LISTED"),
    "moved": (
        lambda market, serial_no: market.ledger.hand_over((TOKEN, serial_no), CHARLIE),
        "NOT_LISTED",
    ),
    "emptied": (
        lambda market, serial_no: market.ledger.change_account(BOB, balance=HBAR),
        "BUYER_BALANCE_TOO_LOW",
    ),
    "associations": (
        lambda market, serial_no: market.ledger.change_account(BOB, automatic_associations=0),
        "BUYER_NOT_ASSOCIATED",
    ),
}


@both_engines
@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_is_refused_by_its_name(market, serial_no, name):
    change, reason = CHANGES[name]
    r = market.buy(serial_no)
    change(market, serial_no)
    rows, before = market.rows(), market.balance()
    assert_error(hand_in(market.client, r), 409, reason)
    assert (market.rows(), market.balance()) == (rows, before)


@both_engines
@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [(["hide", f"{TOKEN}:1"], 451, "HIDDEN"), (["block", BOB], 403, "ACCOUNT_BLOCKED")],
)
def test_what_the_operator_has_decided_is_in_force(market, serial_no, command, status, reason):
    r = market.buy(serial_no)
    run = market.app.test_cli_runner().invoke(args=[*command, "--reason", "stolen"])
    assert run.exit_code == 0, run.output
    assert_error(hand_in(market.client, r), status, reason)
    assert market.rows() == []


def test_a_purchase_that_is_handed_in_too_late_is_refused(market, serial_no, monkeypatch):
    r = market.buy(serial_no)
    now = times.now
    monkeypatch.setattr(times, "now", lambda: now() + 170 * times.SECOND)
    assert_error(hand_in(market.client, r), 409, "TRANSACTION_EXPIRED")
    assert market.rows() == []


def set_behind(market, mirror, before):
    mirror.set_present(times.now() - 70 * times.SECOND)


def answer_old(market, mirror, before):
    mirror.answer("/nfts", before)


@both_engines
@pytest.mark.parametrize("lag", [set_behind, answer_old])
def test_after_a_lagging_mirror_node_the_same_signature_serves_again(market, lag):
    mirror = Mirror(market.app)
    before = mirror.replica()
    serial_no = market.list_one()
    r = market.buy(serial_no)
    signed = market.ledger.sign(r.json["byteArray"], BOB)
    lag(market, mirror, before)
    for _ in range(2):
        answer = hand_in(market.client, r, signed=signed)
        assert_error(answer, 503)
        assert answer.headers["Retry-After"]
        assert market.rows() == []
    mirror.heal()
    assert hand_in(market.client, r, signed=signed).json == {"result": "OK"}


# Once, and no more


@both_engines
def test_equal_requests_at_once_are_one_purchase(market, serial_no):
    r = market.buy(serial_no)
    before = market.balance()
    signed = market.ledger.sign(r.json["byteArray"], BOB)
    clients = [market.app.test_client() for _ in range(6)]
    for client in clients:
        client.environ_base = market.client.environ_base
    with ThreadPoolExecutor(6) as pool:
        answers = [*pool.map(lambda client: hand_in(client, r, signed=signed), clients)]
    assert {answer.status_code for answer in answers} <= {200, 202}
    assert hand_in(market.client, r, signed=signed).json == {"result": "OK"}
    assert len(market.rows()) == 1
    assert market.fees() == (before - market.balance(), 0)


@both_engines
def test_of_many_buyers_at_once_only_one_pays(market, serial_no):
    buyers = [f"0.0.{1100 + number}" for number in range(3)]
    prepared = [market.buy(serial_no, buyer) for buyer in buyers]
    had = market.balance(ALICE)

    def act(pair):
        client = market.app.test_client()
        client.environ_base = market.client.environ_base
        return hand_in(client, *pair)

    with ThreadPoolExecutor() as pool:
        answers = [*pool.map(act, zip(prepared, buyers, strict=True))]
    assert sorted(answer.status_code for answer in answers)[0] == 200
    assert {answer.json.get("reason") for answer in answers} <= {
        None, "PURCHASE_IN_PROGRESS", "NOT_LISTED", "TRY_AGAIN", "NOT_AS_PREPARED",
    }  # fmt: skip
    assert market.balance(ALICE) == had + 5 * HBAR
    assert len(market.rows()) == 1


@both_engines
def test_a_repeat_submits_what_a_killed_request_has_not(market, serial_no):
    r = market.buy(serial_no)
    kill_while_submitting(market, r)
    [row] = market.rows()
    assert (row["is_settled"], row["fee_tinybars"]) == (0, MOST)
    assert hand_in(market.client, r).status_code == 202  # the other request may still submit it
    market.age(11)
    assert hand_in(market.client, r).json == {"result": "OK"}
    assert len(market.rows()) == 1


@both_engines
def test_the_fee_of_what_was_never_submitted_is_free_again(market, serial_no):
    kill_while_submitting(market, market.buy(serial_no))
    assert market.fees() == (0, MOST)
    market.age(190)
    market.sync()
    assert market.fees() == (0, 0)
    assert market.submit(market.buy(serial_no)).result == "SUCCESS"


# The rules


@both_engines
def test_one_purchase_is_in_progress_for_an_account_and_for_an_nft(market):
    first, second, third = (market.list_one() for _ in range(3))
    begun = market.buy(first)
    kill_while_submitting(market, begun)
    for r in (market.buy(second), market.buy(first, CHARLIE)):
        assert_error(r, 429, "PURCHASE_IN_PROGRESS", "is in progress")
        assert r.headers["Retry-After"] == "5"
    assert market.buy(third, CHARLIE).status_code == 200
    market.age(11)
    assert hand_in(market.client, begun).json == {"result": "OK"}
    assert market.submit(market.buy(second)).result == "SUCCESS"


def fail(market):
    """Let a purchase fail at consensus: its buyer is emptied after the last look."""
    serial_no = market.list_one()
    r = market.buy(serial_no)
    sandbox = market.app.extensions["marketplace"].sandbox
    submit = sandbox.submit

    def empty_and_submit(transaction):
        market.ledger.change_account(BOB, balance=0)
        return submit(transaction)

    sandbox.submit = empty_and_submit
    try:
        return hand_in(market.client, r)
    finally:
        sandbox.submit = submit
        market.ledger.change_account(BOB, balance=10_000 * HBAR)


@both_engines
def test_an_account_whose_purchases_fail_waits(market):
    for _ in range(3):
        answer = fail(market)
        body = assert_error(answer, 409, "TRANSACTION_REFUSED")
        assert body["errors"] == {"ledger": {"result": ["INSUFFICIENT_ACCOUNT_BALANCE"]}}
    charged, reserved = market.fees()
    assert charged > 0 == reserved
    serial_no = market.list_one()
    r = market.buy(serial_no)
    assert_error(r, 429, "TOO_MANY_FAILED", f"3 purchases by {BOB} failed")
    assert 3500 < int(r.headers["Retry-After"]) < 3900
    assert market.submit(market.buy(serial_no, CHARLIE), CHARLIE).result == "SUCCESS"
    market.age(3900)
    assert market.buy(market.list_one()).status_code == 200


@both_engines
def test_all_buyers_share_one_fee_budget(make_market):
    market = make_market(SALE_FEE_BUDGET="2.5")
    first, second = market.list_one(), market.list_one()
    prepared = [market.buy(market.list_one(), f"0.0.{1100 + n}") for n in range(2)]
    for n, r in enumerate(prepared):
        market.submit_unseen(r, f"0.0.{1100 + n}")
    assert market.fees() == (0, 2 * MOST)
    r = market.buy(first)
    assert_error(r, 503, "The hourly fee budget for purchases is used up")
    assert r.headers["Retry-After"] == "90"
    market.follow()
    assert market.submit(market.buy(second)).result == "SUCCESS"


def test_a_budget_below_one_purchase_is_the_operators(make_market, caplog):
    market = make_market(SALE_FEE_BUDGET="0.9")
    assert_error(market.buy(market.list_one()), 503, "the operator must raise the fee budget")
    assert "One purchase can cost up to 1" in caplog.text


@both_engines
def test_associations_are_paid_from_half_of_the_budget(market, serial_no):
    write_sql(
        market.app,
        """
        INSERT INTO prepared_transaction (transaction_id, kind, account_id, prepared_at,
            expires_at, caller, end_user, fee_tinybars, is_settled, is_sold)
        VALUES ('0.0.9001@1.000000001', 'purchase', '0.0.5', :now, :now, '', '', :fee, 1, 1)
        """,
        now=times.to_iso(times.now()), fee=market.app.config["SALE_FEE_BUDGET"] // 2,
    )  # fmt: skip
    assert_error(
        market.buy(serial_no), 409, "BUYER_NOT_ASSOCIATED", f"{BOB} is not associated with {TOKEN}"
    )
    market.ledger.hand_over((TOKEN, 99), BOB)  # which associates Bob
    assert market.submit(market.buy(serial_no)).result == "SUCCESS"


def test_nodes_take_turns(market):
    """So that one which is down stops nobody: who asks again is sent to another one."""
    market.app.config["NODE_ACCOUNT_IDS"] = ("0.0.3", "0.0.4", "0.0.7")
    nodes = []
    for _ in range(3):
        r = market.buy(market.list_one())
        nodes.append(opened(r).body.nodeAccountID.accountNum)
        assert market.submit(r).result == "SUCCESS"
    assert sorted(nodes) == [3, 4, 7]


@both_engines
def test_a_purchase_asks_all_about_its_parties_at_once(client, lister, mirror):
    """Whoever asks first waits until the others have come: one after the other, they never would."""
    lister(("0.0.7001", 7))
    met = threading.Barrier(6, timeout=60)
    paths = r"^/api/v1/(accounts/0\.0\.100[12](/tokens)?|tokens/0\.0\.7001|network/exchangerate)$"

    def wait_for_the_others(environ):
        if "spender.id" not in environ["QUERY_STRING"]:
            met.wait()

    mirror.before(paths, wait_for_the_others)
    body = {"accountId": "0.0.1002", "tokenId": "0.0.7001", "serialNo": 7}
    assert client.post("/v1/buy/extwallet", json=body).status_code == 200


# What may be wrong with our side


def tell_balance(market, balance):
    """Have the mirror node tell another balance of the marketplace's account."""
    change = {"balance": balance and {"balance": balance, "tokens": []}}
    Mirror(market.app).alter(f"/accounts/{MARKET}$", lambda document: document.update(change))


@both_engines
def test_a_clock_that_is_behind_signs_nothing(market, serial_no, caplog):
    Mirror(market.app).set_present(times.now() + 70 * times.SECOND)
    r = market.buy(serial_no)
    assert_error(r, 503, "the service's clock is wrong")
    assert r.headers["Retry-After"]
    assert "The clock of this machine is 69 s behind the ledger" in caplog.text
    assert market.rows() == []


def test_an_account_without_hbar_signs_nothing(market, serial_no, caplog):
    tell_balance(market, 99_999_999)
    for _ in range(2):
        r = market.buy(serial_no)
        assert_error(r, 503, "The marketplace can't pay fees at the moment")
    assert r.headers["Retry-After"]
    assert caplog.text.count("The marketplace's account has 0.99999999 HBAR") == 1
    assert market.rows() == []
    with market.app.app_context():
        note_balance()  # as the watcher does
    scraper = authorized_client(market.app, "metrics")
    metrics = scraper.get("/metrics").text
    assert "marketplace_balance_tinybars 9.9999999e+07" in metrics
    assert 'marketplace_purchases_total{outcome="BalanceTooLow"} 2.0' in metrics


def test_an_account_without_a_known_balance_is_a_502(market, serial_no):
    tell_balance(market, None)
    assert_error(market.buy(serial_no), 502, "/accounts/0.0.9001: it has no balance")
