"""HAPI's record of each transaction that reached consensus: what its execution did.

Nodes answer queries with the records themselves. The mirror node's rows are derived from them.
"""

import hashlib
from collections import Counter
from typing import NamedTuple

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import TokenTransferList
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody
from hiero_sdk_python.hapi.services.transaction_record_pb2 import TransactionRecord

from hiero_sandbox.ids import numbers
from hiero_sandbox.ledger import accounts, network_fees, queries
from hiero_sandbox.ledger.execution import Changes, Execution, NftTransfer
from hiero_sandbox.messages import account, timestamp, token

NOBODY = "0.0.0"  # gives NFTs that are minted, and gets those that end


class Recorded(NamedTuple):
    """A transaction that reached consensus, successful or not."""

    body: TransactionBody  # with the accounts' ids in place of their aliases
    record: TransactionRecord

    @property
    def kind(self) -> str:
        """Its field of the body, such as cryptoTransfer."""
        return str(self.body.WhichOneof("data"))

    @property
    def result(self) -> str:
        return str(ResponseCodeEnum.Name(self.record.receipt.status))


def read(row: queries.Row) -> Recorded:
    return Recorded(
        TransactionBody.FromString(row["body"]), TransactionRecord.FromString(row["record"])
    )


def write(execution: Execution, outer: Execution | None = None) -> None:
    """Record a transaction that reached consensus, successful or not, and all that it has executed.

    ``outer`` is the batch that it is in, or the transaction that has executed it.
    """
    record = _make(execution, outer)
    queries.put(
        execution.db,
        "transaction_record",
        consensus_at=execution.now,
        transaction_id=execution.id.dashed,
        hash=record.transactionHash,
        body=execution.signed.body.SerializeToString(),
        record=record.SerializeToString(),
    )
    for nft in execution.effects.nfts:
        changed = {"token": nft.token, "serial_no": nft.serial_no}
        queries.put(execution.db, "nft_transaction", **changed, consensus_at=execution.now)
    for child in [*execution.effects.children, *execution.inner]:
        write(child, execution)


def _make(execution: Execution, outer: Execution | None) -> TransactionRecord:
    effects, body = execution.effects, execution.signed.body
    fee = execution.fee + effects.further_fee
    moved = Counter(effects.moved)
    moved.update({(execution.payer, None): -fee, (accounts.FEE_COLLECTOR, None): fee})
    moved.update({(account_id, None): reward for account_id, reward in effects.rewards.items()})
    moved[accounts.STAKING_REWARDS, None] -= sum(effects.rewards.values())
    made = TransactionRecord(
        receipt={"status": execution.result},
        transactionHash=execution.signed.hash or _hash(body),
        consensusTimestamp=timestamp(execution.now),
        transactionID=body.transactionID,
        memo=body.memo,
        transactionFee=fee,
        transferList={"accountAmounts": [_amount(*each) for each in _sorted(moved, None)]},
        tokenTransferLists=_token_transfers(moved, _transfers(execution)),
        paid_staking_rewards=[_amount(*each) for each in effects.rewards.items()],
        high_volume_pricing_multiplier=execution.node.fee_of(body).rate(body),
    )
    for fee_taken in effects.assessed_fees:
        made.assessed_custom_fees.add(
            amount=fee_taken.amount,
            token_id=fee_taken.token and token(fee_taken.token),
            fee_collector_account_id=account(fee_taken.collector),
            effective_payer_account_id=map(account, fee_taken.payers),
        )
    if outer and body.HasField("batch_key"):
        made.parent_consensus_timestamp.CopyFrom(timestamp(outer.now))
    else:
        made.receipt.exchangeRate.CopyFrom(network_fees.exchange_rate(execution.db, execution.now))
    made.MergeFrom(effects.record)
    return made


def _hash(body: Message) -> bytes:
    """The hash of a transaction that nobody has sent: one that another has executed, or a gift."""
    return hashlib.sha384(body.SerializeToString(deterministic=True)).digest()


def _transfers(execution: Execution) -> list[NftTransfer]:
    """The NFTs that were moved. All of them at once are one of serial number -1."""
    moved = [nft for nft in execution.effects.nfts if nft.sender or nft.receiver]
    is_one = moved and execution.effects.moves_all
    return [moved[0]._replace(serial_no=-1)] if is_one else moved


def _token_transfers(moved: Changes, nfts: list[NftTransfer]) -> list[TokenTransferList]:
    """Units by the numbers of their tokens, then NFTs as they were moved."""
    units = sorted({unit for (_, unit), amount in moved.items() if unit and amount}, key=numbers)
    tokens = dict.fromkeys([*units, *(nft.token for nft in nfts)])
    return [
        TokenTransferList(
            token=token(each),
            transfers=[_amount(*change) for change in _sorted(moved, each)],
            nftTransfers=[_nft(nft) for nft in nfts if nft.token == each],
        )
        for each in tokens
    ]


def _sorted(moved: Changes, unit: str | None) -> list[tuple[str, int]]:
    """The accounts whose HBAR, or units of a token, changed, sorted by their numbers."""
    changes = [(account_id, amount) for (account_id, of), amount in moved.items() if of == unit]
    return sorted(
        [change for change in changes if change[1]], key=lambda change: numbers(change[0])
    )


def _amount(account_id: str, amount: int) -> dict[str, object]:
    return {"accountID": account(account_id), "amount": amount}


def _nft(nft: NftTransfer) -> dict[str, object]:
    return {
        "senderAccountID": account(nft.sender or NOBODY),
        "receiverAccountID": account(nft.receiver or NOBODY),
        "serialNumber": nft.serial_no,
        "is_approval": nft.is_approval,
    }
