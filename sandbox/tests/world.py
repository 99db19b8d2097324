"""A host's world: every id exists in it, as an account or as a token, until a transaction changes it."""

import base64
import logging

from hiero_sdk_python.hapi.services.basic_types_pb2 import TokenSupplyType, TokenType
from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee
from hiero_sdk_python.hapi.services.token_create_pb2 import TokenCreateTransactionBody

from hiero_sandbox.application import create_sandbox
from hiero_sandbox.ledger import keys
from hiero_sandbox.ledger.tokens import KEYS, LIFE_SECONDS
from hiero_sandbox.messages import account
from hiero_sandbox.world import World
from sandbox.tests.people import MARKET, public_key

HBAR = 100_000_000
TREASURY = "0.0.1000"  # holds all NFTs that nobody has, and its key is all keys of their tokens
KEYED = (TREASURY, MARKET)
# The royalties of some tokens: collector, numerator, denominator, and a fallback in tinybars.
ROYALTIES = {
    "0.0.5001": [("0.0.2001", 5, 100, 0)],
    "0.0.5002": [("0.0.2002", 5, 100, 10 * HBAR), ("0.0.2003", 1, 40, 0)],
}


class EveryId(World):
    cents_per_hbar = 10

    def find_account(self, account_id):
        return True

    def find_token(self, token):
        made = TokenCreateTransactionBody(
            name=f"Sandbox {token}",
            symbol="SAND",
            treasury=account(TREASURY),
            tokenType=TokenType.NON_FUNGIBLE_UNIQUE,
            supplyType=TokenSupplyType.INFINITE,
            autoRenewPeriod={"seconds": LIFE_SECONDS},
            custom_fees=[royalty(*each) for each in ROYALTIES.get(token, ())],
        )
        for name in ("admin", "fee_schedule", "metadata", "supply", "wipe"):
            getattr(made, KEYS[name][0]).CopyFrom(keys.of_bytes(public_key(TREASURY)))
        return made

    def find_metadata(self, token, serial_no):
        return base64.b64encode(f"ipfs://{token}/{serial_no}.json".encode()).decode()

    def find_key(self, account_id):
        return public_key(account_id) if account_id in KEYED else None

    def choose_key(self, account_id, signers):
        """The account's own key, or else the first that has signed."""
        found = [*signers]
        return (
            public_key(account_id) if public_key(account_id) in found else next(iter(found), None)
        )

    def refuse_key(self, account_id):
        logging.getLogger("hiero_sandbox").warning("%s already has another key", account_id)


def royalty(collector, numerator, denominator, fallback):
    part = {"numerator": numerator, "denominator": denominator}
    fee = {"exchange_value_fraction": part}
    if fallback:
        fee["fallback_fee"] = {"amount": fallback}
    return CustomFee(fee_collector_account_id=account(collector), royalty_fee=fee)


def make(path=None):
    """A sandbox where every id exists."""
    return create_sandbox(path, world=EveryId(), accounts=None)
