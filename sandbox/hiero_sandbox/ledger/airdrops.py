"""Airdrops: tokens go to those who may hold them, and wait for the others to claim them. HIP-904.

Custom fees are paid with the airdrop, and not again with a claim.
Source: TokenAirdropHandler, TokenClaimAirdropHandler and TokenCancelAirdropHandler of hiero-consensus-node.
"""

from collections import Counter
from decimal import Decimal
from typing import NamedTuple

from hiero_sdk_python.hapi.services.basic_types_pb2 import PendingAirdropId
from hiero_sdk_python.hapi.services.crypto_transfer_pb2 import CryptoTransferTransactionBody
from hiero_sdk_python.hapi.services.token_airdrop_pb2 import TokenAirdropTransactionBody
from hiero_sdk_python.hapi.services.token_cancel_airdrop_pb2 import (
    TokenCancelAirdropTransactionBody,
)
from hiero_sdk_python.hapi.services.token_claim_airdrop_pb2 import TokenClaimAirdropTransactionBody

from hiero_sandbox import messages
from hiero_sandbox.ids import numbers
from hiero_sandbox.ledger import (
    accounts,
    custom_fees,
    network_fees,
    nfts,
    queries,
    tokens,
    transfers,
)
from hiero_sandbox.ledger.account_transactions import resolve
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import Changes, Execution, Handler, NftTransfer, entity
from hiero_sandbox.ledger.network_fees import Fee
from hiero_sandbox.storage import Connection

Pending = TokenClaimAirdropTransactionBody | TokenCancelAirdropTransactionBody
MAX_CLAIMED = 10  # and cancelled, in one transaction
LAST_SYSTEM_NUMBER = 1000  # accounts up to this number get no units
UNKNOWN = "INVALID_PENDING_AIRDROP_ID"
ROYALTY = "TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY"


class Airdrop(NamedTuple):
    """A pending airdrop of an NFT, or of units of a token."""

    sender: str
    receiver: str
    token: str
    serial_no: int = 0  # 0: units

    def message(self) -> PendingAirdropId:
        made = PendingAirdropId(
            sender_id=messages.account(self.sender), receiver_id=messages.account(self.receiver)
        )
        if self.serial_no:
            made.non_fungible_token.token_ID.CopyFrom(messages.token(self.token))
            made.non_fungible_token.serial_number = self.serial_no
        else:
            made.fungible_token_type.CopyFrom(messages.token(self.token))
        return made


def as_transfer(content: TokenAirdropTransactionBody) -> CryptoTransferTransactionBody:
    """An airdrop as a transfer, which has the same checks, custom fees and price."""
    return CryptoTransferTransactionBody(tokenTransfers=content.token_transfers)


def check(content: TokenAirdropTransactionBody) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.token_transfers, "EMPTY_TOKEN_TRANSFER_BODY")
    for dropped in content.token_transfers:
        senders = {nft.senderAccountID.SerializeToString() for nft in dropped.nftTransfers}
        debits = [amount for amount in dropped.transfers if amount.amount < 0]
        if len(senders) > 1 or (dropped.transfers and len(debits) != 1):
            raise Refused("AIRDROP_CONTAINS_MULTIPLE_SENDERS_FOR_A_TOKEN")
        is_approval = any(amount.is_approval for amount in dropped.transfers)
        refuse_if(is_approval, "NOT_SUPPORTED")
        refuse_if(any(nft.is_approval for nft in dropped.nftTransfers), "NOT_SUPPORTED")
    transfers.check(as_transfer(content))


def airdrop(execution: Execution, content: TokenAirdropTransactionBody) -> None:
    """Airdrop tokens. A receiver gets them if associated, or if automatic association is possible."""
    db, dropped = execution.db, as_transfer(content)
    transfers.resolve_aliases(execution, dropped)
    given, moved = transfers.given_of(dropped), transfers.nfts_of(dropped)
    for sender in sorted(_senders(given, moved)):
        execution.require_signature(sender)
    transfers.require_few(dropped, given, moved)
    _require_possible(db, given, moved)
    changes, fees = transfers.assess(execution, given, moved)
    for each in fees:
        execution.move(each)
    now = _drop_units(execution, given, changes)
    for units in dropped.tokenTransfers:  # of what is only pending, the network checks no decimals
        if write_id(units.token) in now:
            transfers.require_decimals(tokens.find(db, write_id(units.token)), units)
    for nft in moved:
        if _may_get(execution, nft.receiver, nft.token):
            execution.let_hold(nft.receiver, nft.token)
            transfers.move(execution, nft)
        else:
            made = Airdrop(nft.sender, nft.receiver, nft.token, nft.serial_no)
            refuse_if(_find(db, made), "PENDING_NFT_AIRDROP_ALREADY_EXISTS")
            _put(execution, made, 0)


def _senders(given: Changes, moved: list[NftTransfer]) -> set[str]:
    return {sender for (sender, _), amount in given.items() if amount < 0} | {
        nft.sender for nft in moved
    }


def _require_possible(db: Connection, given: Changes, moved: list[NftTransfer]) -> None:
    """Refuse what a sender does not have, and royalties that somebody would have to pay."""
    for (account_id, unit), amount in given.items():
        token = tokens.get_usable(db, unit or "")
        if not token.is_fungible:
            raise Refused("ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")
        accounts.require_usable(db, account_id)
        if amount < 0:
            _require_free(db, account_id, token.token)
            has = queries.count_units_of(db, account_id, token.token)
            refuse_if(has + amount < 0, "INSUFFICIENT_TOKEN_BALANCE")
        elif numbers(account_id)[2] <= LAST_SYSTEM_NUMBER:
            raise Refused("INVALID_RECEIVING_NODE_ACCOUNT")
    for nft in moved:
        _require_no_royalty(db, nft, given)
        _require_free(db, nft.sender, nft.token)
        accounts.require_usable(db, nft.receiver)
        owner = nfts.require(nfts.get(db, nft.token, nft.serial_no)).owner
        refuse_if(owner != nft.sender, "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")


def _require_free(db: Connection, sender: str, token: str) -> None:
    accounts.require_usable(db, sender)
    accounts.require_associated(db, sender, token)
    tokens.require_unrestricted(db, token, sender)


def _require_no_royalty(db: Connection, nft: NftTransfer, given: Changes) -> None:
    token = tokens.get_usable(db, nft.token)
    gets = any(to == nft.sender and amount > 0 for (to, _), amount in given.items())
    for fee in token.definition.custom_fees:
        if fee.royalty_fee.HasField("fallback_fee"):
            refuse_if(not custom_fees.is_exempt(token, fee, nft.receiver), ROYALTY)
        if fee.HasField("royalty_fee") and gets:
            refuse_if(not custom_fees.is_exempt(token, fee, nft.sender), ROYALTY)


def _drop_units(execution: Execution, given: Changes, changes: Changes) -> set[str | None]:
    """Move the units that receivers may get, and keep the others for them; returns the moved tokens.

    Each token has one sender.
    """
    senders = {token: account_id for (account_id, token), amount in given.items() if amount < 0}
    now = Counter(changes)
    for (receiver, token), amount in changes.items():
        if amount > 0 and token and not _may_get(execution, receiver, token):
            sender = senders[token]
            now.update({(receiver, token): -amount, (sender, token): amount})
            _put(execution, Airdrop(sender, receiver, token), amount)
    moved = {change: amount for change, amount in now.items() if amount}
    execution.move(moved)
    return {token for _, token in moved}


def _may_get(execution: Execution, receiver: str, token: str) -> bool:
    """Whether a receiver gets a token at once. Charges for an association that it makes by itself."""
    db, account = execution.db, accounts.get(execution.db, receiver)
    if account.is_receiver_signature_required and not execution.has_signed(receiver):
        return False
    if accounts.is_associated(db, receiver, token):
        return True
    limit = account.automatic_associations
    if limit != accounts.UNLIMITED and accounts.count_automatic_associations(db, receiver) >= limit:
        return False
    execution.charge_further(network_fees.AIRDROP)
    return True


def _find(db: Connection, airdrop: Airdrop) -> queries.Row | None:
    return queries.get(db, "airdrop", **airdrop._asdict())


def _put(execution: Execution, airdrop: Airdrop, amount: int) -> None:
    """Keep a pending airdrop, or add to it. The fee of a new one includes the receiver's association."""
    there = _find(execution.db, airdrop)
    execution.charge_further(network_fees.AIRDROP + network_fees.ASSOCIATION * (not there))
    amount += there["amount"] if there else 0
    columns = airdrop._asdict() | {"amount": amount, "created_at": execution.now}
    queries.put(execution.db, "airdrop", **columns)
    pending = execution.effects.record.new_pending_airdrops.add()
    pending.pending_airdrop_id.CopyFrom(airdrop.message())
    if not airdrop.serial_no:
        pending.pending_airdrop_value.amount = amount


# Claims and cancellations


def check_pending(
    content: Pending,
) -> None:
    """Check what a node checks before consensus."""
    named = content.pending_airdrops
    refuse_if(not named, "EMPTY_PENDING_AIRDROP_ID_LIST")
    repeated = len({each.SerializeToString() for each in named}) < len(named)
    refuse_if(repeated, "PENDING_AIRDROP_ID_REPEATED")
    for each in named:
        refuse_if(not (each.HasField("sender_id") and each.HasField("receiver_id")), UNKNOWN)


def _read(execution: Execution, named: PendingAirdropId, signer: str) -> Airdrop:
    """The pending airdrop with an id. The signer is its sender or its receiver."""
    for party in (named.sender_id, named.receiver_id):
        resolve(execution, party, may_create=False)
    sender, receiver = entity(named.sender_id, UNKNOWN), entity(named.receiver_id, UNKNOWN)
    unknown = {"sender": UNKNOWN, "receiver": "INVALID_ACCOUNT_ID"}[signer]
    accounts.require_existing(execution.db, sender if signer == "sender" else receiver, unknown)
    execution.require_signature(sender if signer == "sender" else receiver)
    if named.HasField("fungible_token_type"):
        return Airdrop(sender, receiver, entity(named.fungible_token_type, "INVALID_TOKEN_ID"))
    nft = named.non_fungible_token
    refuse_if(not named.HasField("non_fungible_token"), UNKNOWN)
    refuse_if(nft.serial_number < 1, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    return Airdrop(sender, receiver, entity(nft.token_ID, "INVALID_NFT_ID"), nft.serial_number)


def _take(
    execution: Execution,
    content: Pending,
    signer: str,
) -> list[tuple[Airdrop, int]]:
    """End pending airdrops; returns them with their amounts."""
    db, taken = execution.db, []
    refuse_if(len(content.pending_airdrops) > MAX_CLAIMED, "PENDING_AIRDROP_ID_LIST_TOO_LONG")
    for airdrop in [_read(execution, each, signer) for each in content.pending_airdrops]:
        for account_id in (airdrop.sender, airdrop.receiver):
            refuse_if(not accounts.exists(db, account_id), UNKNOWN)
            accounts.require_usable(db, account_id)
        row = _find(db, airdrop)
        if row is None:
            raise Refused(UNKNOWN)
        queries.delete(db, "airdrop", **airdrop._asdict())
        taken.append((airdrop, row["amount"]))
    return taken


def claim(execution: Execution, content: TokenClaimAirdropTransactionBody) -> None:
    """Move what was airdropped to its receiver, who signs. The sender has paid for the association."""
    db, claimed = execution.db, _take(execution, content, "receiver")
    for airdrop, amount in claimed:
        sender, receiver, token, serial_no = airdrop
        definition = tokens.get_usable(db, token).definition
        has_fallback = any(
            fee.royalty_fee.HasField("fallback_fee") for fee in definition.custom_fees
        )
        refuse_if(has_fallback, ROYALTY)
        accounts.associate(db, receiver, token, execution.now)
        if serial_no:
            tokens.require_unrestricted(db, token, receiver, sender)
            transfers.move(execution, NftTransfer(token, serial_no, sender, receiver))
        else:
            execution.move({(sender, token): -amount, (receiver, token): amount})


def cancel(execution: Execution, content: TokenCancelAirdropTransactionBody) -> None:
    """End airdrops that nobody has claimed. Their sender signs."""
    _take(execution, content, "sender")


def _further(db: Connection, content: TokenAirdropTransactionBody) -> Decimal:
    return network_fees.of_transfer(db, [], content.token_transfers)


HANDLERS = {
    "tokenAirdrop": Handler(
        airdrop, check, Fee(Decimal("0.0001"), further=_further, has_high_volume=True)
    ),
    "tokenCancelAirdrop": Handler(cancel, check_pending),
    "tokenClaimAirdrop": Handler(claim, check_pending, Fee(has_high_volume=True)),
}
