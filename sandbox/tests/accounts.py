"""Transactions about accounts, and their keys and aliases."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID

from hiero_sandbox.ledger import keys
from hiero_sandbox.messages import account
from sandbox.tests.bodies import HBAR, make, transfer
from sandbox.tests.people import ALICE

DAYS_90 = 7_776_000


def public(key):
    return keys.of_bytes(key.public_key().to_bytes_raw())


def address(key):
    return bytes.fromhex(key.public_key().to_evm_address().to_string())


def creation(payer=ALICE, **fields):
    return make(payer, "cryptoCreateAccount", autoRenewPeriod={"seconds": DAYS_90}, **fields)


def update(account_id, **fields):
    """By Alice."""
    return make(ALICE, "cryptoUpdateAccount", accountIDToUpdate=account(account_id), **fields)


def to_alias(alias, amount=5 * HBAR, payer=ALICE):
    body = transfer(payer, {payer: -amount})
    body.cryptoTransfer.transfers.accountAmounts.add(
        accountID=AccountID(alias=alias), amount=amount
    )
    return body
