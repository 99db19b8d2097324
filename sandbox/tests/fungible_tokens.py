"""Transfers and allowances of fungible tokens."""

from hiero_sandbox.messages import account
from sandbox.tests.bodies import make, token_id, transfer


def move(payer, token, amounts, hbar=(), nfts=(), is_approval=False):
    body = transfer(payer, hbar, nfts)
    transfers = body.cryptoTransfer.tokenTransfers.add(token=token_id((token, 0)))
    for account_id, amount in amounts.items():
        transfers.transfers.add(
            accountID=account(account_id), amount=amount, is_approval=is_approval and amount < 0
        )
    return body


def allow(owner, spender, amount, token=None):
    allowance = {"owner": account(owner), "spender": account(spender), "amount": amount}
    if token:
        allowance["tokenId"] = token_id((token, 0))
    field = "tokenAllowances" if token else "cryptoAllowances"
    return make(owner, "cryptoApproveAllowance", **{field: [allowance]})
