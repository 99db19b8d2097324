"""Airdrops, and what claims and cancels them."""

from hiero_sandbox.ledger.airdrops import Airdrop
from hiero_sandbox.messages import account, token
from sandbox.tests.bodies import make


def drop(sender, token_id, units=(), nfts=()):
    """Units by receiver, and receivers by serial number."""
    dropped = {"token": token(token_id)}
    if units:
        amounts = [(sender, -sum(units.values())), *units.items()]
        dropped["transfers"] = [
            {"accountID": account(each), "amount": amount} for each, amount in amounts
        ]
    dropped["nftTransfers"] = [
        {
            "senderAccountID": account(sender),
            "receiverAccountID": account(receiver),
            "serialNumber": serial_no,
        }
        for serial_no, receiver in dict(nfts).items()
    ]
    return make(sender, "tokenAirdrop", token_transfers=[dropped])


def about_pending(kind, payer, *named):
    """Each as (sender, receiver, token), or with a serial number."""
    return make(payer, kind, pending_airdrops=[Airdrop(*each).message() for each in named])
