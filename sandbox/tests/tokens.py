"""Transactions about tokens, with their roles and custom fees."""

from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee

from hiero_sandbox.ledger import keys
from hiero_sandbox.messages import account
from sandbox.tests.bodies import HBAR, make, token_id

TREASURY, COLLECTOR, MARKET = "0.0.4001", "0.0.4002", "0.0.9001"
ISSUER = PrivateKey.generate_ecdsa()  # holds all keys of the collections of these tests
KEY = keys.of_bytes(ISSUER.public_key().to_bytes_raw())
NAMES = (
    "adminKey", "supplyKey", "wipeKey", "freezeKey", "pause_key", "fee_schedule_key", "metadata_key"
)  # fmt: skip


def creation(payer=TREASURY, names=NAMES, **fields):
    given = {"name": "Cats", "symbol": "CAT", "tokenType": 1, "treasury": account(TREASURY)}
    given |= {"autoRenewPeriod": {"seconds": 7_776_000}} | dict.fromkeys(names, KEY)
    body = make(payer, "tokenCreation", **given | fields)
    body.transactionFee = 30 * HBAR
    return body


def about(kind, token, payer=TREASURY, account_id=None, **fields):
    """A transaction about a token, and perhaps about an account."""
    token_field = "token_id" if kind == "token_fee_schedule_update" else "token"
    fields[token_field] = token_id((token, 0))
    if account_id:
        fields["account"] = account(account_id)
    return make(payer, kind, **fields)


def royalty(collector=COLLECTOR, numerator=1, denominator=10, fallback=None):
    fraction = {"numerator": numerator, "denominator": denominator}
    fee = {"exchange_value_fraction": fraction}
    if fallback is not None:
        fee["fallback_fee"] = {"amount": fallback}
    return CustomFee(fee_collector_account_id=account(collector), royalty_fee=fee)


def fixed(amount, collector=COLLECTOR):
    return CustomFee(fee_collector_account_id=account(collector), fixed_fee={"amount": amount})
