"""Moves HBAR and NFTs from account to account: all of a transaction's at once, royalties with them.

The order of the checks and the result codes are the network's: CryptoTransferValidator and TransferExecutor
of https://github.com/hiero-ledger/hiero-consensus-node.
"""

from collections import Counter
from typing import NamedTuple

from google.protobuf.message import Message

from marketplace.sandbox.ledger import (
    accounts,
    allowances,
    custom_fees,
    history,
    network_fees,
    nfts,
    tokens,
)
from marketplace.sandbox.ledger.account_transactions import require_receivers_signature, resolve
from marketplace.sandbox.ledger.envelopes import Refused
from marketplace.sandbox.ledger.execution import Execution, NftTransfer, entity, party

MAX_HBAR_TRANSFERS = 10
MAX_NFT_TRANSFERS = 10
MAX_BALANCE_CHANGES = 20  # custom fees included


def check(content: Message) -> None:
    """Check what a node checks before consensus."""
    given = content.transfers.accountAmounts
    if sum(amount.amount for amount in given):
        raise Refused("INVALID_ACCOUNT_AMOUNTS")
    account_ids = [party(amount.accountID, "INVALID_ACCOUNT_ID") for amount in given]
    if len(set(account_ids)) < len(account_ids):
        raise Refused("ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS")
    tokens = set()
    for transfers in content.tokenTransfers:
        token = entity(transfers.token, "INVALID_TOKEN_ID")
        if not transfers.transfers and not transfers.nftTransfers:
            raise Refused("EMPTY_TOKEN_TRANSFER_ACCOUNT_AMOUNTS")
        _check_nfts(transfers.nftTransfers)
        if token in tokens:
            raise Refused("TOKEN_ID_REPEATED_IN_TOKEN_LIST")
        tokens.add(token)


def _check_nfts(transfers: list[Message]) -> None:
    serial_nos = set()
    for transfer in transfers:
        if transfer.serialNumber < 1:
            raise Refused("INVALID_TOKEN_NFT_SERIAL_NUMBER")
        sender = party(transfer.senderAccountID, "INVALID_TRANSFER_ACCOUNT_ID")
        receiver = party(transfer.receiverAccountID, "INVALID_TRANSFER_ACCOUNT_ID")
        if transfer.serialNumber in serial_nos:
            raise Refused("INVALID_ACCOUNT_AMOUNTS")
        if sender == receiver:
            raise Refused("ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS")
        serial_nos.add(transfer.serialNumber)


def hbar_of(content: Message) -> Counter[str]:
    """The tinybars that a transfer gives to each account, or takes from it, before custom fees."""
    given: Counter[str] = Counter()
    for amount in content.transfers.accountAmounts:
        given[party(amount.accountID, "INVALID_ACCOUNT_ID")] += amount.amount
    return given


def nfts_of(content: Message) -> list[NftTransfer]:
    return [
        NftTransfer(
            entity(transfers.token, "INVALID_TOKEN_ID"),
            transfer.serialNumber,
            party(transfer.senderAccountID, "INVALID_TRANSFER_ACCOUNT_ID"),
            party(transfer.receiverAccountID, "INVALID_TRANSFER_ACCOUNT_ID"),
            transfer.is_approval,
        )
        for transfers in content.tokenTransfers
        for transfer in transfers.nftTransfers
    ]


def transfer(execution: Execution, content: Message) -> None:
    _resolve_aliases(execution, content)
    given, moved = hbar_of(content), nfts_of(content)
    _require_signatures(execution, content, given, moved)
    _require_possible(content, given, moved)
    charges = _assess(execution, given, moved)
    for nft in moved:
        tokens.get_usable(execution.db, nft.token)
        if accounts.associate_receiver(execution.db, nft.receiver, nft.token, execution.now):
            execution.charge_further(network_fees.association())
        tokens.require_unrestricted(execution.db, nft.token, nft.sender, nft.receiver)
    execution.move(charges.first, charges.payers)
    execution.move(charges.then, charges.payers)
    execution.move_units(charges.units)
    for nft in moved:
        _move(execution, nft)


def _resolve_aliases(execution: Execution, content: Message) -> None:
    for amount in content.transfers.accountAmounts:
        resolve(execution, amount.accountID, may_create=amount.amount > 0)
    for transfers in content.tokenTransfers:
        for moved in transfers.nftTransfers:
            resolve(execution, moved.senderAccountID, may_create=False)
            resolve(execution, moved.receiverAccountID, may_create=True)


def _require_signatures(
    execution: Execution, content: Message, given: Counter[str], moved: list[NftTransfer]
) -> None:
    for amount in content.transfers.accountAmounts:
        if amount.amount < 0 and not amount.is_approval:
            execution.require_signature(party(amount.accountID, "INVALID_ACCOUNT_ID"))
    for account_id in receivers(given, moved):
        require_receivers_signature(execution, account_id)
    for nft in moved:
        if not nft.is_approval:
            execution.require_signature(nft.sender)
        if custom_fees.may_owe_fallback(execution.db, nft, given):
            execution.require_signature(nft.receiver)


def receivers(given: Counter[str], moved: list[NftTransfer]) -> set[str]:
    return {nft.receiver for nft in moved} | {to for to, amount in given.items() if amount > 0}


def _require_possible(content: Message, given: Counter[str], moved: list[NftTransfer]) -> None:
    amounts = content.transfers.accountAmounts
    if len(amounts) > MAX_HBAR_TRANSFERS:
        raise Refused("TRANSFER_LIST_SIZE_LIMIT_EXCEEDED")
    if len(moved) > MAX_NFT_TRANSFERS:
        raise Refused("BATCH_SIZE_LIMIT_EXCEEDED")
    if accounts.FEE_COLLECTOR in receivers(given, moved):
        raise Refused("TRANSFER_TO_FEE_COLLECTION_ACCOUNT_NOT_ALLOWED")
    if any(amount.amount < 0 and amount.is_approval for amount in amounts):
        # There are no allowances of HBAR here.
        raise Refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE")
    if any(transfers.transfers for transfers in content.tokenTransfers):
        # All tokens of the sandbox are NFTs.
        raise Refused("ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")


class Charges(NamedTuple):
    """The changes of a transfer with custom fees: first what it says, less royalties; then the fees."""

    first: Counter[str]  # tinybars by account
    then: Counter[str]
    units: Counter[tuple[str, str]]  # by account and token
    payers: set[str]


def _assess(execution: Execution, given: Counter[str], moved: list[NftTransfer]) -> Charges:
    assessed = custom_fees.assess(execution.db, moved, given)
    charges = Charges(Counter(given), Counter(), Counter(), {fee.payer for fee in assessed})
    for fee in assessed:
        if fee.token:
            charges.units[fee.payer, fee.token] -= fee.amount
            charges.units[fee.collector, fee.token] += fee.amount
        else:
            (charges.first if fee.is_taken_of_credit else charges.then)[fee.payer] -= fee.amount
            charges.then[fee.collector] += fee.amount
    changes = len(given) + len(charges.then) + len(charges.units) + len(moved)
    if assessed and changes > MAX_BALANCE_CHANGES:
        raise Refused("CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS")
    execution.effects.assessed_fees.extend(assessed)
    return charges


def _move(execution: Execution, transfer: NftTransfer) -> None:
    db, now = execution.db, execution.now
    nft = nfts.find(db, transfer.token, transfer.serial_no)
    if nft is None:
        raise Refused("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
    if transfer.is_approval:
        allowances.require_spender(db, nft, transfer.sender, execution.payer)
    if nft.owner != transfer.sender:
        raise Refused("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
    nfts.put(db, nft, owner=transfer.receiver, spender=None, modified_at=now)
    history.write_nft_transaction(db, execution.id, now, "CRYPTOTRANSFER", transfer)
    execution.effects.nft_transfers.append(transfer)
