"""Approvals of NFTs (single ones, or all of a token), HBAR and units; their deletion.

The order of the checks and the result codes are the network's: ApproveAllowanceValidator and the handlers of
https://github.com/hiero-ledger/hiero-consensus-node.
"""

from decimal import Decimal

from hiero_sdk_python.hapi.services.crypto_approve_allowance_pb2 import (
    CryptoAllowance,
    CryptoApproveAllowanceTransactionBody,
    NftAllowance,
    TokenAllowance,
)
from hiero_sdk_python.hapi.services.crypto_delete_allowance_pb2 import (
    CryptoDeleteAllowanceTransactionBody,
    NftRemoveAllowance,
)

from hiero_sandbox.ledger import accounts, nfts, queries, tokens
from hiero_sandbox.ledger.envelopes import Refused, number_of, refuse_if, write_id
from hiero_sandbox.ledger.execution import Execution, Handler, entity
from hiero_sandbox.ledger.network_fees import Fee
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.storage import Connection

Amount = CryptoAllowance | TokenAllowance
Approval = CryptoAllowance | TokenAllowance | NftAllowance
Approvals = CryptoApproveAllowanceTransactionBody | CryptoDeleteAllowanceTransactionBody
MAX_APPROVALS = 20  # in one transaction
MAX_ALLOWANCES = 100  # of one owner
HBAR = ""  # in place of a token


def check(content: CryptoApproveAllowanceTransactionBody) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.ListFields(), "EMPTY_ALLOWANCES")
    for approval in _all(content):
        if not isinstance(approval, NftAllowance):
            refuse_if(approval.amount < 0, "NEGATIVE_ALLOWANCE_AMOUNT")
        entity(approval.spender, "INVALID_ALLOWANCE_SPENDER_ID")
        if not isinstance(approval, CryptoAllowance):
            entity(approval.tokenId, "INVALID_TOKEN_ID")


def _all(content: CryptoApproveAllowanceTransactionBody) -> list[Approval]:
    return [*content.cryptoAllowances, *content.tokenAllowances, *content.nftAllowances]


def approve(execution: Execution, content: CryptoApproveAllowanceTransactionBody) -> None:
    """Approve, after all approvals of the transaction were checked."""
    check(content)
    amounts: list[Amount] = [*content.cryptoAllowances, *content.tokenAllowances]
    for approval in _all(content):
        _require_signature(execution, approval)
    _require_few(content)
    for amount in amounts:
        _require_valid_amount(execution, amount)
    for of_nfts in content.nftAllowances:
        _require_valid_nfts(execution, of_nfts)
    for amount in amounts:
        _approve_amount(execution, amount)
    for of_nfts in content.nftAllowances:
        _approve_nfts(execution, of_nfts)


def _require_signature(execution: Execution, approval: Approval) -> None:
    """Refuse an approval that its owner has not signed.

    For an owner, a delegating spender may sign approvals of single NFTs: one who may take all of that token.
    """
    owner = _owner_of(execution, approval)
    accounts.require_usable(execution.db, owner, "INVALID_ALLOWANCE_OWNER_ID")
    if delegate := _delegate_of(approval):
        accounts.require_usable(execution.db, delegate, "INVALID_DELEGATING_SPENDER")
        is_for_all = isinstance(approval, NftAllowance) and approval.approved_for_all.value
        owner = owner if is_for_all else delegate
    if owner != execution.payer:
        execution.require_signature(owner)


def _delegate_of(approval: Approval) -> str | None:
    """The delegating spender of an approval of NFTs. 0.0.0 is none."""
    delegate = getattr(approval, "delegating_spender", None)
    return write_id(delegate) if delegate and delegate.accountNum else None


def _require_valid_amount(execution: Execution, approval: Amount) -> None:
    db, owner, spender = execution.db, _owner_of(execution, approval), write_id(approval.spender)
    if isinstance(approval, CryptoAllowance):
        _require_spender(db, spender, is_needed=bool(approval.amount))
        refuse_if(spender == owner, "SPENDER_ACCOUNT_SAME_AS_OWNER")
        return
    token = tokens.get_existing(db, write_id(approval.tokenId))
    refuse_if(not token.is_fungible, "NFT_IN_FUNGIBLE_TOKEN_ALLOWANCES")
    _require_spender(db, spender, is_needed=bool(approval.amount))
    if 0 < token.definition.maxSupply < approval.amount:
        raise Refused("AMOUNT_EXCEEDS_TOKEN_MAX_SUPPLY")
    accounts.require_associated(db, owner, token.token)


def _require_spender(db: Connection, spender: str, *, is_needed: bool) -> None:
    """Refuse a spender who does not exist, unless an approval only ends."""
    if is_needed:
        accounts.require_usable(db, spender, "INVALID_ALLOWANCE_SPENDER_ID")


def _require_valid_nfts(execution: Execution, approval: NftAllowance) -> None:
    db, owner, spender = execution.db, _owner_of(execution, approval), write_id(approval.spender)
    token = tokens.get_existing(db, write_id(approval.tokenId))
    refuse_if(token.is_fungible, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES")
    is_for_all = approval.approved_for_all.value
    _require_spender(db, spender, is_needed=is_for_all or bool(approval.serial_numbers))
    refuse_if(spender == owner, "SPENDER_ACCOUNT_SAME_AS_OWNER")
    accounts.require_associated(db, owner, token.token)
    if delegate := _delegate_of(approval):
        refuse_if(is_for_all, "DELEGATING_SPENDER_CANNOT_GRANT_APPROVE_FOR_ALL")
        if not _may_take_all(db, owner, delegate, token.token):
            raise Refused("DELEGATING_SPENDER_DOES_NOT_HAVE_APPROVE_FOR_ALL")
    for serial_no in approval.serial_numbers:
        _find_nft(db, token.token, serial_no, "INVALID_TOKEN_NFT_SERIAL_NUMBER")


def _find_nft(db: Connection, token: str, serial_no: int, code: str) -> Nft:
    """Find an NFT. Refuses, with the code, one that was never minted, or that was burned or wiped."""
    nft = nfts.get(db, token, serial_no) if serial_no > 0 else None
    if nft is None or nft.owner == queries.NOBODY:
        raise Refused(code)
    return nft


def _approve_amount(execution: Execution, approval: Amount) -> None:
    """Let an account spend an amount of HBAR, or of a token's units; 0 revokes that."""
    queries.put(
        execution.db,
        "allowance",
        owner=_owner_of(execution, approval),
        spender=write_id(approval.spender),
        token=write_id(approval.tokenId) if isinstance(approval, TokenAllowance) else HBAR,
        amount=approval.amount,
        granted=approval.amount,
        approved_at=execution.now,
    )
    if approval.amount:
        _require_room(execution.db, _owner_of(execution, approval))


def _approve_nfts(execution: Execution, approval: NftAllowance) -> None:
    db, owner, spender = execution.db, _owner_of(execution, approval), write_id(approval.spender)
    token = write_id(approval.tokenId)
    if approval.HasField("approved_for_all") and not _delegate_of(approval):
        approved = {"owner": owner, "spender": spender, "token": token}
        # A False that was sent revokes. SDKs that always send the field revoke by accident.
        queries.delete(db, "approval_for_all", **approved)
        if approval.approved_for_all.value:
            queries.put(db, "approval_for_all", **approved, approved_at=execution.now)
        _require_room(db, owner)
    for serial_no in approval.serial_numbers:
        _set_spender(execution, token, serial_no, owner, spender, _delegate_of(approval))


def require_amount(
    db: Connection, owner: str, spender: str, token: str | None, amount: int
) -> queries.Row:
    """The allowance of HBAR, or of a token's units. Refuses one that is not there, or too small."""
    row = queries.get(db, "allowance", owner=owner, spender=spender, token=token or HBAR)
    if row is None or not row["amount"]:
        raise Refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE")
    refuse_if(row["amount"] < amount, "AMOUNT_EXCEEDS_ALLOWANCE")
    return row


def spend(db: Connection, owner: str, spender: str, token: str | None, amount: int) -> None:
    """Take from an allowance of HBAR, or of a token's units."""
    row = require_amount(db, owner, spender, token, amount)
    queries.put(db, "allowance", **dict(row) | {"amount": row["amount"] - amount})


def check_delete(content: CryptoDeleteAllowanceTransactionBody) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.nftAllowances, "EMPTY_ALLOWANCES")
    for approval in content.nftAllowances:
        entity(approval.token_id, "INVALID_TOKEN_ID")
        refuse_if(not approval.serial_numbers, "EMPTY_ALLOWANCES")


def delete(execution: Execution, content: CryptoDeleteAllowanceTransactionBody) -> None:
    """End approvals of single NFTs. Of a paused token, too: CryptoDeleteAllowanceHandler."""
    for approval in content.nftAllowances:
        owner, token = _owner_of(execution, approval), write_id(approval.token_id)
        accounts.require_usable(execution.db, owner, "INVALID_ALLOWANCE_OWNER_ID")
        if owner != execution.payer and not _may_take_all(
            execution.db, owner, execution.payer, token
        ):
            execution.require_signature(owner)
    _require_few(content)
    for approval in content.nftAllowances:
        owner, token = _owner_of(execution, approval), write_id(approval.token_id)
        definition = tokens.get_existing(execution.db, token)
        refuse_if(definition.is_fungible, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES")
        accounts.require_associated(execution.db, owner, token)
        for serial_no in approval.serial_numbers:
            _find_nft(execution.db, token, serial_no, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
            _set_spender(execution, token, serial_no, owner, None)


def require_spender(db: Connection, nft: Nft, owner: str, spender: str) -> None:
    """Refuse a spender without the sender's approval, even if the NFT has another owner by now."""
    if nft.spender != spender and not _may_take_all(db, owner, spender, nft.token):
        raise Refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE")


def _may_take_all(db: Connection, owner: str, spender: str, token: str) -> bool:
    approved = {"owner": owner, "spender": spender, "token": token}
    return queries.get(db, "approval_for_all", **approved) is not None


def _require_few(
    content: Approvals,
) -> None:
    """Refuse too many approvals. An approval of NFTs counts once for each serial number."""
    approvals = [approval for _, listed in content.ListFields() for approval in listed]
    count = sum(max(1, len(getattr(each, "serial_numbers", ()))) for each in approvals)
    refuse_if(count > MAX_APPROVALS, "MAX_ALLOWANCES_EXCEEDED")


def _require_room(db: Connection, owner: str) -> None:
    """Refuse too many allowances of one owner. Approvals of single NFTs do not count."""
    amounts = [row for row in queries.select(db, "allowance", owner=owner) if row["amount"]]
    count = len(amounts) + queries.count(db, "approval_for_all", owner=owner)
    refuse_if(count > MAX_ALLOWANCES, "MAX_ALLOWANCES_EXCEEDED")


def _owner_of(
    execution: Execution,
    approval: Approval | NftRemoveAllowance,
) -> str:
    """The owner who approves: the payer, unless another is named."""
    if not approval.HasField("owner") or not number_of(approval.owner):
        return execution.payer
    return write_id(approval.owner)


def _set_spender(
    execution: Execution,
    token: str,
    serial_no: int,
    owner: str,
    spender: str | None,
    delegate: str | None = None,
) -> None:
    nft = _find_nft(execution.db, token, serial_no, "INVALID_NFT_ID")
    refuse_if(nft.owner != owner, "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
    execution.change_nft(nft, spender=spender, delegating_spender=delegate)


EACH = Decimal("0.05")
HANDLERS = {
    "cryptoApproveAllowance": Handler(approve, check, Fee(EACH, listed=EACH, has_high_volume=True)),
    "cryptoDeleteAllowance": Handler(delete, check_delete, Fee(EACH, listed=EACH)),
}
