"""Moves HBAR, units of tokens and NFTs between accounts: all that a transaction lists, or nothing.

The order of the checks and the result codes are the network's: CryptoTransferValidator and TransferExecutor
of https://github.com/hiero-ledger/hiero-consensus-node.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from hiero_sdk_python.hapi.services import basic_types_pb2
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountAmount, TokenTransferList
from hiero_sdk_python.hapi.services.crypto_transfer_pb2 import CryptoTransferTransactionBody
from hiero_sdk_python.hapi.services.token_reject_pb2 import (
    TokenReference,
    TokenRejectTransactionBody,
)

from hiero_sandbox.ledger import accounts, allowances, fee_assessment, nfts, queries, tokens
from hiero_sandbox.ledger.account_transactions import resolve
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import Changes, Execution, Handler, NftTransfer, entity, party
from hiero_sandbox.ledger.network_fees import Fee, of_transfer
from hiero_sandbox.storage import Connection

MAX_TRANSFERS = 10  # of HBAR, and as many of units, for all tokens together
MAX_NFT_TRANSFERS = 10
MAX_REJECTIONS = 10
ONLY_FUNGIBLE = "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON"
MAX_BALANCE_CHANGES = 20  # custom fees included


def check(content: CryptoTransferTransactionBody) -> None:
    """Check what a node checks before consensus."""
    _check_amounts(content.transfers.accountAmounts, "INVALID_ACCOUNT_AMOUNTS")
    tokens = set()
    for transfers in content.tokenTransfers:
        token = entity(transfers.token, "INVALID_TOKEN_ID")
        if not transfers.transfers and not transfers.nftTransfers:
            raise Refused("EMPTY_TOKEN_TRANSFER_ACCOUNT_AMOUNTS")
        _check_amounts(transfers.transfers, "TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN")
        _check_nfts(transfers.nftTransfers)
        refuse_if(token in tokens, "TOKEN_ID_REPEATED_IN_TOKEN_LIST")
        tokens.add(token)


def _check_amounts(amounts: Sequence[AccountAmount], code: str) -> None:
    """Refuse, with the code, amounts whose sum is not 0."""
    refuse_if(sum(amount.amount for amount in amounts), code)
    account_ids = [party(amount.accountID, "INVALID_ACCOUNT_ID") for amount in amounts]
    refuse_if(len(set(account_ids)) < len(account_ids), "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS")


def _check_nfts(transfers: Sequence[basic_types_pb2.NftTransfer]) -> None:
    serial_nos = set()
    for transfer in transfers:
        refuse_if(transfer.serialNumber < 1, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
        sender = party(transfer.senderAccountID, "INVALID_TRANSFER_ACCOUNT_ID")
        receiver = party(transfer.receiverAccountID, "INVALID_TRANSFER_ACCOUNT_ID")
        refuse_if(transfer.serialNumber in serial_nos, "INVALID_ACCOUNT_AMOUNTS")
        refuse_if(sender == receiver, "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS")
        serial_nos.add(transfer.serialNumber)


def given_of(content: CryptoTransferTransactionBody) -> Counter[tuple[str, str | None]]:
    """The amounts that a transfer gives to each account, or takes from it, before custom fees."""
    given: Counter[tuple[str, str | None]] = Counter()
    for amount, token in _amounts(content):
        given[write_id(amount.accountID), token] += amount.amount
    return given


def nfts_of(content: CryptoTransferTransactionBody) -> list[NftTransfer]:
    return [
        NftTransfer(
            write_id(transfers.token),
            transfer.serialNumber,
            write_id(transfer.senderAccountID),
            write_id(transfer.receiverAccountID),
            transfer.is_approval,
        )
        for transfers in content.tokenTransfers
        for transfer in transfers.nftTransfers
    ]


def transfer(execution: Execution, content: CryptoTransferTransactionBody) -> None:
    resolve_aliases(execution, content)
    given, moved = given_of(content), nfts_of(content)
    _require_signatures(execution, content, given, moved)
    require_few(content, given, moved)
    changes, fees = assess(execution, given, moved)
    _associate(execution, content)
    _require_units(execution, content)
    _spend_allowances(execution, content, given, changes)
    for each in (changes, *fees):
        execution.move(each)
    for nft in moved:
        move(execution, nft)


def _amounts(content: CryptoTransferTransactionBody) -> Iterator[tuple[AccountAmount, str | None]]:
    """The amounts of HBAR, and of units with their token."""
    for amount in content.transfers.accountAmounts:
        yield amount, None
    for transfers in content.tokenTransfers:
        for amount in transfers.transfers:
            yield amount, write_id(transfers.token)


def resolve_aliases(execution: Execution, content: CryptoTransferTransactionBody) -> None:
    for amount, _ in _amounts(content):
        resolve(execution, amount.accountID, may_create=amount.amount > 0)
    for transfers in content.tokenTransfers:
        for moved in transfers.nftTransfers:
            resolve(execution, moved.senderAccountID, may_create=False)
            resolve(execution, moved.receiverAccountID, may_create=True)


def _require_signatures(
    execution: Execution,
    content: CryptoTransferTransactionBody,
    given: Changes,
    moved: list[NftTransfer],
) -> None:
    for transfers in content.tokenTransfers:
        tokens.find(execution.db, write_id(transfers.token))
    for amount, _ in _amounts(content):
        if amount.amount < 0:
            _require_sender(execution, write_id(amount.accountID), amount.is_approval)
    for account_id in receivers(given, moved):
        if accounts.get(execution.db, account_id).is_receiver_signature_required:
            execution.require_signature(account_id)
    for nft in moved:
        _require_sender(execution, nft.sender, nft.is_approval)
        if fee_assessment.may_owe_fallback(execution.db, nft, given):
            execution.require_signature(nft.receiver)


def _require_sender(execution: Execution, account_id: str, is_approval: bool) -> None:
    """Refuse a sender who does not exist, or who has neither approved nor signed."""
    accounts.require_existing(execution.db, account_id)
    if not is_approval:
        execution.require_signature(account_id)


def receivers(given: Changes, moved: list[NftTransfer]) -> set[str]:
    return {nft.receiver for nft in moved} | {to for (to, _), amount in given.items() if amount > 0}


def require_few(
    content: CryptoTransferTransactionBody, given: Changes, moved: list[NftTransfer]
) -> None:
    if len(content.transfers.accountAmounts) > MAX_TRANSFERS:
        raise Refused("TRANSFER_LIST_SIZE_LIMIT_EXCEEDED")
    if sum(len(transfers.transfers) for transfers in content.tokenTransfers) > MAX_TRANSFERS:
        raise Refused("TOKEN_TRANSFER_LIST_SIZE_LIMIT_EXCEEDED")
    refuse_if(len(moved) > MAX_NFT_TRANSFERS, "BATCH_SIZE_LIMIT_EXCEEDED")
    if accounts.FEE_COLLECTOR in receivers(given, moved):
        raise Refused("TRANSFER_TO_FEE_COLLECTION_ACCOUNT_NOT_ALLOWED")


def _associate(execution: Execution, content: CryptoTransferTransactionBody) -> None:
    """Associate all parties with the tokens, as far as they allow it (AssociateTokenRecipientsStep)."""
    db, payer = execution.db, execution.payer
    for transfers in content.tokenTransfers:
        token = tokens.get_usable(db, write_id(transfers.token)).token
        for amount in transfers.transfers:
            account_id = write_id(amount.accountID)
            accounts.require_usable(db, account_id)
            if (
                amount.is_approval
                and amount.amount < 0
                and not _may_hold(execution, account_id, token)
            ):
                allowances.require_amount(db, account_id, payer, token, -amount.amount)
            execution.let_hold(account_id, token)
        for transfer in transfers.nftTransfers:
            sender = write_id(transfer.senderAccountID)
            nft = nfts.get(db, token, transfer.serialNumber)
            if nft and transfer.is_approval and not accounts.is_associated(db, sender, token):
                allowances.require_spender(db, nft, sender, payer)
            accounts.require_associated(db, sender, token)
            nfts.require(nft)
            execution.let_hold(write_id(transfer.receiverAccountID), token)


def _may_hold(execution: Execution, account_id: str, token: str) -> bool:
    is_associated = accounts.is_associated(execution.db, account_id, token)
    return is_associated or accounts.get(execution.db, account_id).automatic_associations != 0


def _require_units(execution: Execution, content: CryptoTransferTransactionBody) -> None:
    """Refuse units of NFTs, and those of another number of decimals than is expected."""
    for transfers in content.tokenTransfers:
        token = tokens.find(execution.db, write_id(transfers.token))
        require_decimals(token, transfers)
        refuse_if(transfers.transfers and not token.is_fungible, ONLY_FUNGIBLE)


def require_decimals(token: tokens.Token, transfers: TokenTransferList) -> None:
    is_unexpected = transfers.expected_decimals.value != token.definition.decimals
    if token.is_fungible and transfers.HasField("expected_decimals") and is_unexpected:
        raise Refused("UNEXPECTED_TOKEN_DECIMALS")


def _spend_allowances(
    execution: Execution, content: CryptoTransferTransactionBody, given: Changes, changes: Changes
) -> None:
    """Spend the allowances for what is taken, with the fees that are taken beside it."""
    for amount, token in _amounts(content):
        if amount.amount < 0 and amount.is_approval:
            owner = write_id(amount.accountID)
            spent = given[owner, token] - changes[owner, token] - amount.amount
            allowances.spend(execution.db, owner, execution.payer, token, max(0, spent))


def assess(
    execution: Execution, given: Changes, moved: list[NftTransfer]
) -> tuple[Changes, list[Changes]]:
    """The changes of balances by a transfer, less what is taken of it; and those by other custom fees."""
    levels = fee_assessment.assess(execution.db, moved, given)
    balances: list[Changes] = [*(level.changes for level in levels), levels[-1].payments]
    assessed = [fee for level in levels for fee in level.fees]
    changed = {key for each in balances for key in each}
    if assessed and len(changed) + len(moved) > MAX_BALANCE_CHANGES:
        raise Refused("CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS")
    execution.effects.assessed_fees.extend(assessed)
    return balances[0], balances[1:]


def move(execution: Execution, transfer: NftTransfer) -> None:
    nft = nfts.require(nfts.get(execution.db, transfer.token, transfer.serial_no))
    tokens.require_unrestricted(execution.db, transfer.token, transfer.sender)
    if transfer.is_approval:
        allowances.require_spender(execution.db, nft, transfer.sender, execution.payer)
    refuse_if(nft.owner != transfer.sender, "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
    execution.move_nft(nft, transfer.receiver, transfer.is_approval)


# Rejections: an owner gives tokens back to their treasuries, without custom fees (TokenRejectHandler).


def check_rejections(content: TokenRejectTransactionBody) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.rejections, "EMPTY_TOKEN_REFERENCE_LIST")
    references = {rejection.SerializeToString() for rejection in content.rejections}
    refuse_if(len(references) < len(content.rejections), "TOKEN_REFERENCE_REPEATED")
    for rejection in content.rejections:
        if rejection.HasField("nft"):
            entity(rejection.nft.token_ID, "INVALID_NFT_ID")
            refuse_if(rejection.nft.serial_number < 1, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
        else:
            entity(rejection.fungible_token, "INVALID_TOKEN_ID")


def reject(execution: Execution, content: TokenRejectTransactionBody) -> None:
    if not content.HasField("owner"):
        content.owner.CopyFrom(execution.signed.body.transactionID.accountID)
    resolve(execution, content.owner, may_create=False)
    owner = entity(content.owner, "INVALID_OWNER_ID")
    accounts.require_existing(execution.db, owner, "INVALID_OWNER_ID")
    execution.require_signature(owner)
    accounts.require_usable(execution.db, owner)
    refuse_if(len(content.rejections) > MAX_REJECTIONS, "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED")
    for rejection in content.rejections:
        _reject_one(execution, rejection, owner)


def _reject_one(execution: Execution, rejection: TokenReference, owner: str) -> None:
    db, asked = execution.db, rejection.nft
    is_nft = rejection.HasField("nft")
    token_id = write_id(asked.token_ID if is_nft else rejection.fungible_token)
    nft = nfts.require(nfts.find(db, token_id, asked.serial_number)) if is_nft else None
    treasury = tokens.get_usable(db, token_id).treasury
    if nft:
        refuse_if(treasury == owner, "ACCOUNT_IS_TREASURY")
        refuse_if(nft.owner != owner, "INVALID_OWNER_ID")
        tokens.require_unrestricted(db, token_id, owner, treasury)
        execution.move_nft(nft, treasury)
    else:
        accounts.require_associated(db, owner, token_id)
        tokens.require_unrestricted(db, token_id, owner)
        refuse_if(treasury == owner, "ACCOUNT_IS_TREASURY")
        amount = queries.count_units_of(db, owner, token_id)
        held = amount or queries.count(db, "nft", owner=owner, token=token_id)
        refuse_if(not held, "INSUFFICIENT_TOKEN_BALANCE")
        refuse_if(not amount, ONLY_FUNGIBLE)
        execution.move({(owner, token_id): -amount, (treasury, token_id): amount})


def _further(db: Connection, content: CryptoTransferTransactionBody) -> Decimal:
    return of_transfer(db, content.transfers.accountAmounts, content.tokenTransfers)


HANDLERS = {
    "cryptoTransfer": Handler(transfer, check, Fee(Decimal("0.0001"), further=_further)),
    "tokenReject": Handler(reject, check_rejections, about="owner"),
}
