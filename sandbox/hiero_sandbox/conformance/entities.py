"""Tokens and accounts that several cases share, and the transactions about them.

Functions that take the network alone are for Network.once().
"""

from typing import Any

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import messages
from hiero_sandbox.conformance.network import (
    Account,
    Network,
    account_amounts,
    key_of,
    text,
    transfers,
)

ISSUER = PrivateKey.generate_ed25519()  # holds the keys of the tokens
ISSUER_KEY = key_of(ISSUER)
TOKEN_KEYS = ("adminKey", "supplyKey", "wipeKey", "freezeKey", "pause_key", "metadata_key")
ALL_SUPPLY = 1_000_000
NFT, FUNGIBLE = "NON_FUNGIBLE_UNIQUE", "FUNGIBLE_COMMON"
UNLIMITED = -1  # automatic associations
QUARTER = {"seconds": 7_776_000}


def holder(network: Network) -> Account:
    """An account that any token can be sent to."""
    return network.account(max_automatic_token_associations=UNLIMITED)


def buyer(network: Network) -> Account:
    """Another one."""
    return holder(network)


def spender(network: Network) -> Account:
    """One with HBAR: only the payer of a transfer may use what was approved."""
    return network.account(0.3, max_automatic_token_associations=UNLIMITED)


def stranger(network: Network) -> Account:
    """An account without associations."""
    return network.account()


def units(network: Network) -> str:
    """A fungible token, whose treasury is the operator."""
    return create_token(network, **all_keys())


def collection(network: Network) -> str:
    """A collection of NFTs, whose treasury is the operator."""
    return create_token(network, **nft_fields(), **all_keys())


def all_keys() -> dict[str, Any]:
    return dict.fromkeys(TOKEN_KEYS, ISSUER_KEY)


def nft_fields() -> dict[str, Any]:
    return {"tokenType": NFT, "initialSupply": 0, "decimals": 0}


def token_creation(network: Network, payer: str = "", /, **fields: Any) -> TransactionBody:
    given: dict[str, Any] = {"name": "Conformance", "symbol": "CONF", "decimals": 2}
    given |= {"initialSupply": ALL_SUPPLY, "treasury": messages.account(network.operator.id)}
    return network.body("tokenCreation", payer, **given | {"autoRenewPeriod": QUARTER} | fields)


def create_token(network: Network, **fields: Any) -> str:
    made = network.done(token_creation(network, **fields), ISSUER)
    return text(made.receipt.tokenID)


def minting(network: Network, token: str, *metadata: bytes, amount: int = 0) -> TransactionBody:
    fields = {"token": messages.token(token), "metadata": metadata, "amount": amount}
    return network.body("tokenMint", **fields)


def mint(network: Network, token: str, receiver: Account | None = None) -> int:
    """Mint an NFT, and send it to the receiver; returns its serial number."""
    made = network.done(minting(network, token, b"ipfs://conformance"), ISSUER)
    [serial_no] = made.receipt.serialNumbers
    if receiver:
        network.done(nft_transfer(network, token, serial_no, network.operator, receiver))
    return int(serial_no)


def payment(network: Network, *amounts: tuple[str, int], payer: str = "") -> TransactionBody:
    """A transfer of tinybars."""
    return network.body("cryptoTransfer", payer, transfers=transfers(*amounts))


def unit_transfer(
    network: Network,
    token: str,
    *amounts: tuple[str, int],
    payer: str = "",
    is_approval: bool = False,
    expected_decimals: int | None = None,
) -> TransactionBody:
    moved: dict[str, Any] = {"token": messages.token(token)}
    moved["transfers"] = account_amounts(*amounts, is_approval=is_approval)
    if expected_decimals is not None:
        moved["expected_decimals"] = {"value": expected_decimals}
    return network.body("cryptoTransfer", payer, tokenTransfers=[moved])


def nft_transfer(
    network: Network,
    token: str,
    serial_no: int,
    sender: Account,
    receiver: Account,
    *,
    payer: str = "",
    is_approval: bool = False,
) -> TransactionBody:
    moved = {
        "senderAccountID": messages.account(sender.id),
        "receiverAccountID": messages.account(receiver.id),
        "serialNumber": serial_no,
        "is_approval": is_approval,
    }
    lists = [{"token": messages.token(token), "nftTransfers": [moved]}]
    return network.body("cryptoTransfer", payer, tokenTransfers=lists)


def give_units(network: Network, token: str, receiver: Account, amount: int) -> None:
    amounts = (network.operator.id, -amount), (receiver.id, amount)
    network.done(unit_transfer(network, token, *amounts))


def nft_approval(
    network: Network, token: str, owner: Account, spender: Account, *serial_nos: int, **fields: Any
) -> TransactionBody:
    """An approval of serial numbers; with approved_for_all, of all."""
    allowance = {
        "tokenId": messages.token(token),
        "owner": messages.account(owner.id),
        "spender": messages.account(spender.id),
        "serial_numbers": serial_nos,
    }
    return network.body("cryptoApproveAllowance", nftAllowances=[allowance | fields])


def about(
    network: Network, kind: str, token: str, account: Account | None = None, /, **fields: Any
) -> TransactionBody:
    """A transaction about a token, and perhaps an account."""
    if account:
        fields["account"] = messages.account(account.id)
    return network.body(kind, token=messages.token(token), **fields)


def association(
    network: Network, account: Account, *tokens: str, kind: str = "tokenAssociate"
) -> TransactionBody:
    listed = [messages.token(token) for token in tokens]
    return network.body(kind, account=messages.account(account.id), tokens=listed)
