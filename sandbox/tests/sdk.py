"""Approvals as the Python SDK makes them."""

from hiero_sdk_python.account.account_allowance_approve_transaction import (
    AccountAllowanceApproveTransaction,
)
from hiero_sdk_python.account.account_id import AccountId
from hiero_sdk_python.tokens.nft_id import NftId
from hiero_sdk_python.tokens.token_id import TokenId
from hiero_sdk_python.transaction.transaction_id import TransactionId

from sandbox.tests.people import ALICE, MARKET, TOKEN, private_key


def account(account_id):
    return AccountId.from_string(account_id)


def of_sdk(transaction, nodes=("0.0.3",), key=None):
    """The bytes of a transaction of the Python SDK that Alice pays for and signs, with her key or another."""
    transaction.set_transaction_id(TransactionId.generate(account(ALICE)))
    transaction.set_node_account_ids([account(node) for node in nodes])
    return transaction.freeze().sign(key or private_key(ALICE)).to_bytes()


def approval_of_sdk(serial_no=None):
    """Of one serial number, or of all."""
    transaction, token = AccountAllowanceApproveTransaction(), TokenId.from_string(TOKEN)
    parties = (account(ALICE), account(MARKET))
    if serial_no is None:
        return transaction.approve_token_nft_allowance_all_serials(token, *parties)
    return transaction.approve_token_nft_allowance(NftId(token, serial_no), *parties)
