"""Who lets whom spend his NFTs: approvals, of serials and for all, and their deletion."""

from marketplace.sandbox.ledger import history, queries
from marketplace.sandbox.ledger.accounts import Refused
from marketplace.sandbox.ledger.execution import Execution, entity

MAX_APPROVALS = 20


def check(content) -> None:
    """What a node sees at its precheck."""
    if not any((*_others(content), content.nftAllowances)):
        raise Refused("EMPTY_ALLOWANCES")


def approve(execution: Execution, content) -> None:
    check(content)
    if any(_others(content)):
        raise Refused("NOT_SUPPORTED")
    _require_few(content.nftAllowances)
    db, now = execution.db, execution.now
    for approval in content.nftAllowances:
        owner = _owner_of(execution, approval)
        token = entity(approval.tokenId, "INVALID_TOKEN_ID")
        if not approval.HasField("spender"):
            raise Refused("INVALID_ALLOWANCE_SPENDER_ID")
        if approval.HasField("delegating_spender"):
            raise Refused("NOT_SUPPORTED")
        spender = entity(approval.spender, "INVALID_ALLOWANCE_SPENDER_ID")
        if spender == owner:
            raise Refused("SPENDER_ACCOUNT_SAME_AS_OWNER")
        if approval.HasField("approved_for_all"):
            # A false one that is present revokes: the trap of the SDKs that always send it.
            queries.delete_approval_for_all(db, owner, spender, token)
            if approval.approved_for_all.value:
                queries.insert_approval_for_all(db, owner, spender, token, now)
        elif not approval.serial_numbers:
            raise Refused("EMPTY_ALLOWANCES")
        for serial_no in approval.serial_numbers:
            _mark_spender(execution, token, serial_no, owner, spender)


def delete(execution: Execution, content) -> None:
    check(content)
    _require_few(content.nftAllowances)
    for approval in content.nftAllowances:
        owner = _owner_of(execution, approval)
        token = entity(approval.token_id, "INVALID_TOKEN_ID")
        if not approval.serial_numbers:
            raise Refused("EMPTY_ALLOWANCES")
        for serial_no in approval.serial_numbers:
            _mark_spender(execution, token, serial_no, owner, None)


def require_spender(db, nft, owner: str, spender: str) -> None:
    """Refuses what its owner has not let this account spend, whoever owns it by now."""
    if nft["spender"] != spender and not queries.get_approval_for_all(
        db, owner, spender, nft["token"]
    ):
        raise Refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE")


def _others(content) -> tuple:
    """The allowances of HBAR and of fungible tokens: there are none here."""
    return getattr(content, "cryptoAllowances", ()), getattr(content, "tokenAllowances", ())


def _require_few(approvals) -> None:
    if sum(max(1, len(approval.serial_numbers)) for approval in approvals) > MAX_APPROVALS:
        raise Refused("MAX_ALLOWANCES_EXCEEDED")


def _owner_of(execution: Execution, approval) -> str:
    """Whose approval it is: the payer's, or that of an owner who has signed too."""
    if not approval.HasField("owner"):
        return execution.payer
    owner = entity(approval.owner, "INVALID_ALLOWANCE_OWNER_ID")
    if owner != execution.payer:
        execution.require_signature(owner)
    return owner


def _mark_spender(execution: Execution, token, serial_no, owner, spender) -> None:
    db, now = execution.db, execution.now
    if serial_no < 1:
        raise Refused("INVALID_TOKEN_NFT_SERIAL_NUMBER")
    if queries.get_deleted_token(db, token):
        raise Refused("TOKEN_WAS_DELETED")
    nft = queries.get_nft(db, token, serial_no)
    if nft is None or nft["owner"] != owner:
        raise Refused("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")
    queries.mark_spender(db, token, serial_no, spender, now)
    name = "CRYPTOAPPROVEALLOWANCE" if spender else "CRYPTODELETEALLOWANCE"
    history.write_nft_transaction(db, token, serial_no, execution.id, now, name)
