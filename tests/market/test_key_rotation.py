"""The account's key changes: nothing is signed with another one, and with two keys no sale is lost."""

import base64

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction

from harness import wallets
from harness.apps import authorized_client
from harness.cast import MARKET
from hiero_sandbox.ledger import keys
from hiero_sandbox.wallet import add_signature
from marketplace.errors import SignerFailed
from marketplace.ledger.objects import LedgerAccount, LedgerKey
from marketplace.market.buying import account_key
from marketplace.market.buying.account_key import KeyWatch, compare_last
from marketplace.watcher.follow import Follower
from tests import actions
from tests.answers import assert_error
from tests.engines import both_engines

OLD, NEW = PrivateKey.generate_ed25519(), PrivateKey.generate_ecdsa()


def public(key):
    return keys.of_bytes(key.public_key().to_bytes_raw())


def either(*several):
    """A threshold key of which one key is enough."""
    return Key(thresholdKey={"threshold": 1, "keys": {"keys": [public(key) for key in several]}})


class Signing:
    """A host's signer, whose key can be replaced."""

    def __init__(self, key):
        self.key = key

    def __call__(self, body):
        return self.key.public_key().to_bytes_raw(), self.key.sign(body)


@pytest.fixture
def signing():
    return Signing(OLD)


@pytest.fixture
def market(make_market, signing):
    market = make_market(sign=signing)
    market.ledger.change_account(MARKET, key=public(OLD).SerializeToString().hex())
    assert market.submit(market.buy(market.list_one())).result == "SUCCESS"
    market.follow()
    return market


def set_key(market, key, *signers):
    """Update the marketplace's account, as its operator does."""
    body = wallets.new_body(MARKET, "")
    body.cryptoUpdateAccount.accountIDToUpdate.CopyFrom(wallets.account(MARKET))
    body.cryptoUpdateAccount.key.CopyFrom(key)
    content = body.SerializeToString()
    signed = SignedTransaction(bodyBytes=content)
    for each in signers:
        pair = signed.sigMap.sigPair.add(pubKeyPrefix=each.public_key().to_bytes_raw())
        field = "ed25519" if each.is_ed25519() else "ECDSA_secp256k1"
        setattr(pair, field, each.sign(content))
    transaction = Transaction(signedTransactionBytes=signed.SerializeToString())
    assert market.ledger.submit(transaction.SerializeToString()).result == "SUCCESS"


def find_reason(market):
    with market.app.app_context():
        return account_key.find_reason()


def is_signing_off(market):
    scraper = authorized_client(market.app, "metrics")
    off = "marketplace_signing_off 1.0\n" in scraper.get("/metrics").text
    assert off == (scraper.get("/status").json["signingOff"] is not None)
    return off


@both_engines
def test_a_purchase_is_not_signed_with_a_key_that_the_node_refuses(market, signing, caplog):
    set_key(market, public(NEW), OLD, NEW)
    r = market.buy(market.list_one())
    assert_error(actions.hand_in(market.client, r), 503, "did not sign")
    assert is_signing_off(market)
    assert "Buying is off, because purchases cannot be signed: it signs with" in caplog.text
    assert len(market.rows()) == 1

    signing.key = NEW
    assert market.submit(market.buy(market.list_one())).result == "SUCCESS"
    assert not is_signing_off(market)
    assert "Purchases can be signed again" in caplog.text


def test_with_both_keys_no_sale_is_lost(market, signing):
    before = market.buy(market.list_one())
    set_key(market, either(OLD, NEW), OLD, NEW)
    assert market.submit(before).result == "SUCCESS"
    last_of_the_old = market.buy(market.list_one())
    signing.key = NEW
    first_of_the_new = market.buy(market.list_one())
    assert (
        market.submit(last_of_the_old).result == market.submit(first_of_the_new).result == "SUCCESS"
    )
    set_key(market, public(NEW), NEW)
    assert market.submit(market.buy(market.list_one())).result == "SUCCESS"
    assert find_reason(market) is None


def test_the_watcher_sees_a_new_key_by_itself(market, caplog):
    watch = KeyWatch()
    market.follower = Follower(look_at=watch.look_at)
    with market.app.app_context():
        watch.step()
        assert account_key.find_reason() is None
        set_key(market, public(NEW), OLD, NEW)
        watch.step()  # not within the hour
        assert account_key.find_reason() is None
        market.follow()
        watch.step()
        assert NEW.public_key().to_bytes_raw().hex() in account_key.find_reason()
        set_key(market, public(OLD), OLD, NEW)
        market.follow()
        watch.step()
        assert account_key.find_reason() is None


def test_the_watcher_compares_after_a_refused_signature(market):
    watch = KeyWatch()
    market.follower = Follower(look_at=watch.look_at)
    with market.app.app_context():
        watch.step()
        r = market.buy(market.list_one())
        ours = add_signature(OLD, base64.b64decode(r.json["byteArray"]))  # without the buyer's
        assert market.ledger.submit(ours).result == "INVALID_SIGNATURE"
        # Without a transaction that the ledger shows
        market.ledger.change_account(MARKET, key=public(NEW).SerializeToString().hex())
        watch.step()
        assert account_key.find_reason() is None
        market.follow()
        watch.step()
        assert account_key.find_reason()


def test_nothing_is_compared_before_the_first_signature(app):
    with app.app_context():
        compare_last()
        assert account_key.find_state() is None


@pytest.mark.parametrize(
    "key",
    [
        Key(thresholdKey={"threshold": 2, "keys": {"keys": [public(OLD), public(NEW)]}}),
        Key(keyList={"keys": [public(OLD), public(NEW)]}),
        Key(
            thresholdKey={"threshold": 1, "keys": {"keys": [Key(keyList={"keys": [public(OLD)]})]}}
        ),
    ],
)
def test_a_key_that_needs_more_than_one_signature_is_refused(app, key):
    account = LedgerAccount(MARKET, key=LedgerKey("ProtobufEncoded", key.SerializeToString()))
    with app.app_context(), pytest.raises(SignerFailed, match="one signature is not enough"):
        account_key.find_keys(account)
