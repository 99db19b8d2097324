"""Approvals of NFTs (single ones, or all of a token), HBAR and units; their deletion, and scheduled ones."""

from google.protobuf.message import Message

from hiero_sandbox.database import Connection
from hiero_sandbox.ledger import accounts, network_fees, nfts, queries, tokens
from hiero_sandbox.ledger.envelopes import Refused, refuse_if
from hiero_sandbox.ledger.execution import Execution, entity
from hiero_sandbox.ledger.nfts import Nft

MAX_APPROVALS = 20
HBAR = ""  # in place of a token


def check(content: Message) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.ListFields(), "EMPTY_ALLOWANCES")


def approve(execution: Execution, content: Message) -> None:
    check(content)
    _require_few(content)
    db, now = execution.db, execution.now
    for amount in [*content.cryptoAllowances, *content.tokenAllowances]:
        _approve_amount(execution, amount)
    for approval in content.nftAllowances:
        owner = _owner_of(execution, approval)
        token = entity(approval.tokenId, "INVALID_TOKEN_ID")
        refuse_if(approval.HasField("delegating_spender"), "NOT_SUPPORTED")
        spender = _spender_of(db, approval, owner)
        if approval.HasField("approved_for_all"):
            approved = {"owner": owner, "spender": spender, "token": token}
            # A False that was sent revokes. SDKs that always send the field revoke by accident.
            queries.delete(db, "approval_for_all", **approved)
            if approval.approved_for_all.value:
                queries.put(db, "approval_for_all", **approved, approved_at=now)
        elif not approval.serial_numbers:
            raise Refused("EMPTY_ALLOWANCES")
        for serial_no in approval.serial_numbers:
            _set_spender(execution, token, serial_no, owner, spender)


def _spender_of(db: Connection, approval: Message, owner: str) -> str:
    code = "INVALID_ALLOWANCE_SPENDER_ID"
    spender = entity(approval.spender, code)
    accounts.require_usable(db, spender, code)
    refuse_if(spender == owner, "SPENDER_ACCOUNT_SAME_AS_OWNER")
    return spender


def _approve_amount(execution: Execution, approval: Message) -> None:
    """Let an account spend an amount of HBAR, or of a token's units; 0 revokes that."""
    db, owner, unit = execution.db, _owner_of(execution, approval), HBAR
    spender = _spender_of(db, approval, owner)
    refuse_if(approval.amount < 0, "NEGATIVE_ALLOWANCE_AMOUNT")
    if approval.DESCRIPTOR.name == "TokenAllowance":
        token = tokens.get_usable(db, entity(approval.tokenId, "INVALID_TOKEN_ID"))
        unit = token.token
        refuse_if(not token.is_fungible, "NFT_IN_FUNGIBLE_TOKEN_ALLOWANCES")
        accounts.require_associated(db, owner, unit)
        if 0 < token.definition.maxSupply < approval.amount:
            raise Refused("AMOUNT_EXCEEDS_TOKEN_MAX_SUPPLY")
    columns = {"owner": owner, "spender": spender, "token": unit}
    queries.put(
        db, "allowance", **columns, amount=approval.amount, granted=approval.amount,
        approved_at=execution.now,
    )  # fmt: skip


def spend(db: Connection, owner: str, spender: str, token: str | None, amount: int) -> None:
    """Take from an allowance of HBAR, or of a token's units."""
    row = queries.get(db, "allowance", owner=owner, spender=spender, token=token or HBAR)
    if row is None or not row["amount"]:
        raise Refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE")
    refuse_if(row["amount"] < amount, "AMOUNT_EXCEEDS_ALLOWANCE")
    queries.put(db, "allowance", **dict(row) | {"amount": row["amount"] - amount})


def delete(execution: Execution, content: Message) -> None:
    _require_few(content)
    for approval in content.nftAllowances:
        owner = _owner_of(execution, approval)
        token = entity(approval.token_id, "INVALID_TOKEN_ID")
        refuse_if(not approval.serial_numbers, "EMPTY_ALLOWANCES")
        for serial_no in approval.serial_numbers:
            _set_spender(execution, token, serial_no, owner, None)


def schedule(execution: Execution, content: Message) -> None:
    """Execute a scheduled approval immediately. It must already have all signatures.

    The network would keep a schedule open, and wait for signatures.
    """
    scheduled = content.scheduledTransactionBody
    if scheduled.WhichOneof("data") != "cryptoApproveAllowance":
        raise Refused("SCHEDULED_TRANSACTION_NOT_IN_WHITELIST")
    refuse_if(content.HasField("payerAccountID") or content.wait_for_expiry, "NOT_SUPPORTED")
    child = execution.child(
        execution.now + 1,
        network_fees.price_scheduled(scheduled),
        memo=scheduled.memo,
        cryptoApproveAllowance=scheduled.cryptoApproveAllowance,
    )
    child.signed.body.transactionID.scheduled = True
    child.charge(child.fee)
    approve(child, scheduled.cryptoApproveAllowance)


def require_spender(db: Connection, nft: Nft, owner: str, spender: str) -> None:
    """Refuse a spender without the sender's approval, even if the NFT has another owner by now."""
    approved = {"owner": owner, "spender": spender, "token": nft.token}
    if nft.spender != spender and not queries.get(db, "approval_for_all", **approved):
        raise Refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE")


def _require_few(content: Message) -> None:
    """Refuse too many approvals. An approval of NFTs counts once for each serial number."""
    approvals = [approval for _, listed in content.ListFields() for approval in listed]
    count = sum(max(1, len(getattr(each, "serial_numbers", ()))) for each in approvals)
    refuse_if(count > MAX_APPROVALS, "MAX_ALLOWANCES_EXCEEDED")


def _owner_of(execution: Execution, approval: Message) -> str:
    """The owner who approves: the payer, or another account that has signed too."""
    if not approval.HasField("owner"):
        return execution.payer
    owner = entity(approval.owner, "INVALID_ALLOWANCE_OWNER_ID")
    accounts.require_usable(execution.db, owner, "INVALID_ALLOWANCE_OWNER_ID")
    if owner != execution.payer:
        execution.require_signature(owner)
    return owner


def _set_spender(
    execution: Execution, token: str, serial_no: int, owner: str, spender: str | None
) -> None:
    refuse_if(serial_no < 1, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    tokens.get_usable(execution.db, token)
    nft = nfts.find(execution.db, token, serial_no)
    if nft is None or nft.owner != owner:
        raise Refused("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
    execution.change_nft(nft, spender=spender)
