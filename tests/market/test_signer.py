"""The interface to the signer: what a host's own code may do, and what a caller sees."""

import subprocess
import sys
import threading
import time

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey

from harness.cast import ALICE, MARKET
from harness.mirror import Mirror
from hiero_sandbox.ledger import keys
from marketplace.hedera.signatures import SECP256K1_ORDER, verifies
from marketplace.market.buying import signer as signing
from marketplace.market.buying.signer import Signer
from marketplace.sandbox import wallet
from tests import actions
from tests.answers import assert_error

DEMO = wallet.private_key(MARKET)
OTHER = PrivateKey.generate_ed25519()
ECDSA = PrivateKey.generate_ecdsa()


def signing_with(key):
    return lambda body: (key.public_key().to_bytes_raw(), key.sign(body))


def set_key(market, key):
    """Let the ledger's account have a key."""
    encoded = keys.of_bytes(key.public_key().to_bytes_raw()).SerializeToString().hex()
    market.ledger.change_account(MARKET, key=encoded)


def buy(market):
    return market.buy(market.list_one())


def hand_in(market):
    return actions.hand_in(market.client, buy(market))


@pytest.mark.parametrize("key", [DEMO, ECDSA, OTHER], ids=["demo", "ECDSA", "ED25519"])
def test_it_works(make_market, key):
    given = []

    def sign(body):
        given.append(body)
        return signing_with(key)(body)

    market = make_market(sign=sign)
    set_key(market, key)
    assert market.submit(buy(market)).result == "SUCCESS"
    [body] = given
    assert type(body) is bytes


def raises(body):
    raise RuntimeError("the password of the HSM is hunter2")


def exits(body):
    raise SystemExit(1)


def signature_of(body, **change):
    public_key, signature = signing_with(DEMO)(body)
    return change.get("public_key", public_key), change.get("signature", signature)


FAULTY = {
    "raises": (raises, "it raised RuntimeError: the password"),
    "exits": (exits, "it raised SystemExit"),
    "nothing": (lambda body: None, "not return a pair of bytes"),
    "text": (lambda body: ("key", "signature"), "not return a pair of bytes"),
    "one part": (lambda body: (b"key",), "not return a pair of bytes"),
    "a short key": (lambda body: signature_of(body, public_key=b"x"), "a key of 1 bytes"),
    "a long signature": (lambda body: signature_of(body, signature=bytes(65)), "signature of 65"),
    "of something else": (lambda body: signing_with(DEMO)(body + b"x"), "not valid for"),
    "numbers beyond the curve's order": (
        lambda body: (ECDSA.public_key().to_bytes_raw(), b"\xff" * 64),
        "not valid for",
    ),
    "no point of the curve": (lambda body: (b"\x02" + b"\xff" * 32, bytes(64)), "not valid for"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_signer_is_a_503_and_a_line_for_the_operator(make_market, caplog, name):
    sign, words = FAULTY[name]
    market = make_market(sign=sign)
    r = hand_in(market)
    body = assert_error(r, 503, "The marketplace's signer did not sign")
    assert r.headers["Retry-After"]
    assert "hunter2" not in str(body)
    [line] = [line for line in caplog.messages if "signer" in line]
    assert line.startswith(f"The signer of {MARKET}: ")
    assert words in line
    assert market.rows() == []


def test_another_key_than_the_accounts_is_refused(make_market, caplog):
    market = make_market(sign=signing_with(OTHER))
    market.ledger.hand_over(("0.0.7005", 1), MARKET)  # it signs once: then its key is known
    market.ledger.approve(("0.0.7005", 1), MARKET, ALICE)
    assert_error(hand_in(market), 503, "did not sign")
    assert f"it signs with the key {OTHER.public_key().to_bytes_raw().hex()}" in caplog.text
    assert market.rows() == []


def test_a_key_that_changed_is_looked_up_again(make_market):
    own = [OTHER]
    market = make_market(sign=lambda body: signing_with(own[0])(body))

    def show_key(document):
        document["key"] = {"_type": "ED25519", "key": own[0].public_key().to_bytes_raw().hex()}

    Mirror(market.app).alter(f"/accounts/{MARKET}", show_key)
    # Not our comparison, but the sandbox's node, which has another key
    assert_error(hand_in(market), 409, "INVALID_SIGNATURE")
    own[0] = DEMO
    assert hand_in(market).status_code == 200


def test_a_key_that_cannot_be_looked_up_is_refused(make_market):
    market, change = make_market(sign=signing_with(DEMO)), {"key": {"_type": 5}}
    Mirror(market.app).alter(f"/accounts/{MARKET}", lambda document: document.update(change))
    assert_error(buy(market), 502, "invalid answer")


def test_a_signer_that_hangs_is_not_waited_for(make_market, monkeypatch, caplog):
    monkeypatch.setattr(signing, "SIGNER_SECONDS", 0.3)
    over = threading.Event()
    market = make_market(sign=lambda body: over.wait(60))
    began = time.monotonic()
    assert_error(hand_in(market), 503, "did not sign")
    assert time.monotonic() - began < 20
    assert "it took longer than 0.3 s" in caplog.text
    assert market.rows() == []
    over.set()


HANGS = """
import threading
from marketplace.market.buying import signer
signer.SIGNER_SECONDS = 0.1
try:
    signer.Signer("0.0.9001", lambda: lambda body: threading.Event().wait()).sign(b"")
except RuntimeError:  # it cannot be logged: there is no application
    print("gave up", flush=True)
"""


def test_a_signer_that_hangs_does_not_hold_up_the_end_of_the_process():
    run = [sys.executable, "-c", HANGS]
    assert subprocess.run(run, capture_output=True, timeout=20).stdout == b"gave up\n"


def test_a_purchase_is_a_503_where_no_thread_can_be_started(make_market, monkeypatch, caplog):
    def start(thread):
        if thread.name.startswith("signer"):
            raise RuntimeError("can't start new thread")
        start_thread(thread)

    market = make_market(sign=signing_with(DEMO))
    start_thread = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", start)
    assert_error(hand_in(market), 503)
    assert "can't start new thread" in caplog.text
    monkeypatch.undo()
    assert hand_in(market).status_code == 200


def test_where_all_signers_hang_no_other_thread_is_begun(app, monkeypatch):
    monkeypatch.setattr(signing, "SIGNER_SECONDS", 0.2)
    over, calls = threading.Event(), []

    def hang(body):
        calls.append(body)
        over.wait(60)
        return signing_with(DEMO)(body)

    signer = Signer(MARKET, lambda: hang)
    with app.app_context():
        for _ in range(signing.SIGNATURES_AT_ONCE):
            with pytest.raises(signing.SignerFailed):
                signer.sign(b"body")
        with pytest.raises(signing.SignerFailed):
            signer.sign(b"body")
        assert len(calls) == signing.SIGNATURES_AT_ONCE
        over.set()
        monkeypatch.setattr(signing, "SIGNER_SECONDS", 60)
        assert verifies(*signer.sign(b"body"), b"body")
    assert len(calls) == signing.SIGNATURES_AT_ONCE + 1


def test_an_ecdsa_signature_has_the_lower_s(app):
    """Both are signatures of the same body; libraries for secp256k1 may take only one of them."""

    def sign(body):
        public_key, signature = signing_with(ECDSA)(body)
        s = int.from_bytes(signature[32:])
        return public_key, signature[:32] + max(s, SECP256K1_ORDER - s).to_bytes(32)

    signer = Signer(MARKET, lambda: sign)
    with app.app_context():
        public_key, signature = signer.sign(b"body")
    assert int.from_bytes(signature[32:]) <= SECP256K1_ORDER // 2
    assert verifies(public_key, signature, b"body")
