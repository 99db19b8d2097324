"""The network's fees: its price list in USD, at ten cents an HBAR.

Each type of transaction has a base, and extras: https://docs.hedera.com/networks/fees and HIP-1261. The payer
pays for each transaction that reaches consensus, successful or not.
"""

from decimal import Decimal

from google.protobuf.message import Message

from marketplace.hbar import TINYBARS
from marketplace.sandbox.ledger import tokens
from marketplace.sandbox.ledger.envelopes import Signed, write_id
from marketplace.store.database import read

CENTS_PER_HBAR = 10
TINYBARS_PER_DOLLAR = 100 * TINYBARS // CENTS_PER_HBAR

# In USD, with the fees of node and network: 0.0001 together.
BASE = {
    "cryptoApproveAllowance": Decimal("0.05"),
    "cryptoCreateAccount": Decimal("0.05"),
    "cryptoDeleteAllowance": Decimal("0.05"),
    "cryptoTransfer": Decimal("0.0001"),
    "cryptoUpdateAccount": Decimal("0.00022"),
    "scheduleCreate": Decimal("0.01"),
    "tokenAssociate": Decimal("0.05"),
    "tokenCreation": Decimal("1"),
    "tokenDissociate": Decimal("0.05"),
}
OTHERS = Decimal("0.001")  # of transactions about tokens
NODE_AND_NETWORK = Decimal("0.0001")
# Each one beyond those that the base includes.
ALLOWANCE, INCLUDED_ALLOWANCES = Decimal("0.05"), 1
ACCOUNT, INCLUDED_ACCOUNTS = Decimal("0.0001"), 2
TOKEN, INCLUDED_TOKENS = Decimal("0.0001"), 1
NFT_MINTED, INCLUDED_NFTS = Decimal("0.02"), 1
ASSOCIATED, INCLUDED_ASSOCIATIONS = Decimal("0.05"), 1
NFT_UPDATED, INCLUDED_UPDATES = Decimal("0.001"), 1
# The same, for node and network together.
SIGNATURE, INCLUDED_SIGNATURES = Decimal("0.0001"), 1
BYTE, INCLUDED_BYTES = Decimal("0.00001"), 1350
# Once, where a transfer moves tokens, or tokens of which one has custom fees; where NFTs are minted.
TOKEN_TRANSFER = Decimal("0.0009")
CUSTOM_FEE_TRANSFER = Decimal("0.0019")
NFT_MINT = Decimal("0.019")
# Once, where a token is created with custom fees.
CUSTOM_FEE_CREATION = Decimal("1")
# What the payer of a transfer pays for what it makes by itself, in tinybars: HIP-904, HIP-542.
ASSOCIATION = int(BASE["tokenAssociate"] * TINYBARS_PER_DOLLAR)
ACCOUNT_CREATION = int(BASE["cryptoCreateAccount"] * TINYBARS_PER_DOLLAR)


def price(signed: Signed) -> int:
    """The fee of a transaction, in tinybars."""
    return _tinybars(_service(signed.body) + _signed(signed))


def price_unhandled(signed: Signed) -> int:
    """The fee of a transaction that is not executed at consensus, such as a duplicate, in tinybars."""
    return _tinybars(NODE_AND_NETWORK + _signed(signed))


def price_scheduled(scheduled: Message) -> int:
    """The fee of a scheduled transaction when it is executed, in tinybars."""
    return _tinybars(_service(scheduled))


def _tinybars(usd: Decimal) -> int:
    return int(usd * TINYBARS_PER_DOLLAR)


def _signed(signed: Signed) -> Decimal:
    return _beyond(len(signed.pairs), INCLUDED_SIGNATURES) * SIGNATURE + (
        _beyond(signed.size, INCLUDED_BYTES) * BYTE
    )


def _service(body: Message) -> Decimal:
    kind = body.WhichOneof("data")
    content, base = getattr(body, kind), BASE.get(kind, OTHERS)
    if kind == "cryptoTransfer":
        return base + _of_transfer(content)
    if kind in ("cryptoApproveAllowance", "cryptoDeleteAllowance"):
        count = sum(len(allowances) for _, allowances in content.ListFields())
        return base + _beyond(count, INCLUDED_ALLOWANCES) * ALLOWANCE
    if kind in ("tokenAssociate", "tokenDissociate"):
        return base + _beyond(len(content.tokens), INCLUDED_ASSOCIATIONS) * ASSOCIATED
    if kind == "tokenMint" and content.metadata:
        return base + NFT_MINT + _beyond(len(content.metadata), INCLUDED_NFTS) * NFT_MINTED
    if kind == "tokenCreation" and content.custom_fees:
        return base + CUSTOM_FEE_CREATION
    if kind == "token_update_nfts":
        return base + _beyond(len(content.serial_numbers), INCLUDED_UPDATES) * NFT_UPDATED
    return base


def _of_transfer(transfer: Message) -> Decimal:
    moved = transfer.tokenTransfers
    account_ids = {write_id(amount.accountID) for amount in transfer.transfers.accountAmounts}
    for transfers in moved:
        for nft in transfers.nftTransfers:
            account_ids |= {write_id(nft.senderAccountID), write_id(nft.receiverAccountID)}
        account_ids |= {write_id(amount.accountID) for amount in transfers.transfers}
    usd = _beyond(len(account_ids), INCLUDED_ACCOUNTS) * ACCOUNT
    usd += _beyond(len(moved), INCLUDED_TOKENS) * TOKEN
    if any(_has_custom_fees(write_id(transfers.token)) for transfers in moved):
        return usd + CUSTOM_FEE_TRANSFER
    return usd + TOKEN_TRANSFER if moved else usd


def _has_custom_fees(token: str) -> bool:
    return bool(tokens.find(read(), token).definition.custom_fees)


def _beyond(count: int, included: int) -> int:
    return max(0, count - included)
