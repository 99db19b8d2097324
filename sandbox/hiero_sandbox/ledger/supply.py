"""Transactions that mint, burn and wipe NFTs and units of a token, and change the metadata of NFTs."""

import base64
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from hiero_sdk_python.hapi.services.token_burn_pb2 import TokenBurnTransactionBody
from hiero_sdk_python.hapi.services.token_mint_pb2 import TokenMintTransactionBody
from hiero_sdk_python.hapi.services.token_update_nfts_pb2 import TokenUpdateNftsTransactionBody
from hiero_sdk_python.hapi.services.token_wipe_account_pb2 import TokenWipeAccountTransactionBody

from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import accounts, nfts, queries, tokens
from hiero_sandbox.ledger.envelopes import refuse_if, write_id
from hiero_sandbox.ledger.execution import Execution, Handler, entity, require_short
from hiero_sandbox.ledger.network_fees import Fee
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.ledger.token_transactions import issued, require_issuer
from hiero_sandbox.ledger.tokens import Token

Supply = TokenMintTransactionBody | TokenBurnTransactionBody | TokenWipeAccountTransactionBody
Ending = TokenBurnTransactionBody | TokenWipeAccountTransactionBody
MAX_NFTS = 10  # in one transaction
Missing = tuple[str, str]  # the codes for a wrong amount of units, and for no NFTs


def check(content: Supply, *, code: str) -> None:
    """Check what a node checks before consensus. The code is for a wrong amount."""
    entity(content.token, "INVALID_TOKEN_ID")
    serial_nos = () if isinstance(content, TokenMintTransactionBody) else content.serialNumbers
    lists_nfts = content.metadata if isinstance(content, TokenMintTransactionBody) else serial_nos
    refuse_if(0 < content.amount <= MAX_INT64 and lists_nfts, "INVALID_TRANSACTION_BODY")
    refuse_if(content.amount > MAX_INT64, code)
    refuse_if(any(serial_no < 1 for serial_no in serial_nos), "INVALID_NFT_ID")


def check_wipe(content: TokenWipeAccountTransactionBody) -> None:
    """Check what a node checks before consensus."""
    check(content, code="INVALID_WIPING_AMOUNT")
    entity(content.account, "INVALID_ACCOUNT_ID")


def mint(execution: Execution, content: TokenMintTransactionBody) -> None:
    """Mint to the treasury; NFTs are numbered from the token's highest serial number on.

    Units are minted without a look at the metadata that a transaction lists.
    """
    db, now = execution.db, execution.now
    _require_few(content.metadata)
    for metadata in content.metadata:
        require_short(metadata, "METADATA_TOO_LONG")
    token = issued(execution, content.token, "supply")
    tokens.require_unrestricted(db, token.token, token.treasury)
    if token.is_fungible:
        code = "INVALID_TOKEN_MINT_AMOUNT"
        tokens.require_room(db, token, content.amount)
        execution.change_units(token.treasury, token.token, content.amount, code)
    else:
        _mint_nfts(execution, token, content.metadata)
    accounts.associate(db, token.treasury, token.token, now)
    execution.effects.record.receipt.newTotalSupply = tokens.supply(db, token)


def _mint_nfts(execution: Execution, token: Token, metadata: Sequence[bytes]) -> None:
    refuse_if(not metadata, "INVALID_TOKEN_MINT_METADATA")
    tokens.require_room(execution.db, token, len(metadata))
    highest = queries.get_highest(execution.db, "serial_no", "nft", token=token.token)
    refuse_if(highest + len(metadata) > MAX_INT64, "SERIAL_NUMBER_LIMIT_REACHED")
    for serial_no, content in enumerate(metadata, start=highest + 1):
        encoded = base64.b64encode(content).decode()
        new = Nft(
            token.token, serial_no, queries.NOBODY, created_at=execution.now, metadata=encoded
        )
        execution.move_nft(new, token.treasury)
        execution.effects.record.receipt.serialNumbers.append(serial_no)


def burn(execution: Execution, content: TokenBurnTransactionBody) -> None:
    """Burn NFTs or units that the treasury has."""
    _require_few(content.serialNumbers)
    token = issued(execution, content.token, "supply")
    tokens.require_unrestricted(execution.db, token.token, token.treasury)
    codes = ("INVALID_TOKEN_BURN_AMOUNT", "INVALID_TOKEN_BURN_METADATA")
    _end(execution, token, token.treasury, content, "TREASURY_MUST_OWN_BURNED_NFT", codes)


def wipe(execution: Execution, content: TokenWipeAccountTransactionBody) -> None:
    """Wipe NFTs or units that another account has."""
    _require_few(content.serialNumbers)
    token = issued(execution, content.token, "wipe")
    account_id = write_id(content.account)
    accounts.require_usable(execution.db, account_id)
    accounts.require_associated(execution.db, account_id, token.token)
    tokens.require_unrestricted(execution.db, token.token, account_id)
    refuse_if(account_id == token.treasury, "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT")
    codes = ("INVALID_WIPING_AMOUNT", "INVALID_WIPING_AMOUNT")
    _end(execution, token, account_id, content, "ACCOUNT_DOES_NOT_OWN_WIPED_NFT", codes)


def _end(
    execution: Execution,
    token: Token,
    owner: str,
    content: Ending,
    foreign: str,
    missing: Missing,
) -> None:
    """End NFTs or units of an owner. ``foreign`` is the code for another owner's NFT.

    Units end without a look at the serial numbers that a transaction lists.
    """
    db = execution.db
    if token.is_fungible:
        is_treasurys = owner == token.treasury and content.amount <= tokens.supply(db, token)
        code = "INSUFFICIENT_TOKEN_BALANCE" if is_treasurys else missing[0]
        execution.change_units(owner, token.token, -content.amount, code)
    else:
        refuse_if(not content.serialNumbers, missing[1])
        for serial_no in sorted(set(content.serialNumbers)):
            nft = nfts.require(nfts.find(db, token.token, serial_no))
            refuse_if(nft.owner != owner, foreign)
            execution.move_nft(nft, queries.NOBODY)
    execution.effects.record.receipt.newTotalSupply = tokens.supply(db, token)


def update_nfts(execution: Execution, content: TokenUpdateNftsTransactionBody) -> None:
    """Change the metadata of NFTs. The supply key may sign for those that the treasury has: HIP-850."""
    db = execution.db
    token = tokens.get_usable(db, entity(content.token, "INVALID_TOKEN_ID"))
    refuse_if(not content.serial_numbers, "MISSING_SERIAL_NUMBERS")
    _require_few(content.serial_numbers)
    require_short(content.metadata.value, "METADATA_TOO_LONG")
    for serial_no in content.serial_numbers:
        nft = nfts.require(nfts.get(db, token.token, serial_no) if serial_no > 0 else None)
        is_treasurys = nft.owner == token.treasury
        require_issuer(execution, token, "metadata", *(("supply",) if is_treasurys else ()))
        encoded = nft.metadata
        if content.HasField("metadata"):
            encoded = base64.b64encode(content.metadata.value).decode()
        execution.change_nft(nft, metadata=encoded)


def _require_few(of_nfts: Sequence[object]) -> None:
    refuse_if(len(of_nfts) > MAX_NFTS, "BATCH_SIZE_LIMIT_EXCEEDED")


MINT = Fee(listing=Decimal("0.019"), listed=Decimal("0.02"), has_high_volume=True)
HANDLERS = {
    "tokenBurn": Handler(burn, partial(check, code="INVALID_TOKEN_BURN_AMOUNT"), about="token"),
    "tokenMint": Handler(
        mint, partial(check, code="INVALID_TOKEN_MINT_AMOUNT"), MINT, about="token"
    ),
    "tokenWipe": Handler(wipe, check_wipe, about="token", function="TokenAccountWipe"),
    "token_update_nfts": Handler(update_nfts, fee=Fee(listed=Decimal("0.001")), about="token"),
}
