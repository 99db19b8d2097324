"""What happened, in the mirror node's own words: transactions and histories of NFTs, as it shows them."""

import base64
import json

from marketplace import times
from marketplace.ids import TransactionId
from marketplace.sandbox import queries
from marketplace.sandbox.envelopes import Signed, write_id

FEE_TINYBARS = 50_000_000  # $0.05, at ten cents an HBAR
NAMES = {
    "cryptoApproveAllowance": "CRYPTOAPPROVEALLOWANCE",
    "cryptoDeleteAllowance": "CRYPTODELETEALLOWANCE",
    "cryptoTransfer": "CRYPTOTRANSFER",
    "scheduleCreate": "SCHEDULECREATE",
}


def write_signed(db, signed: Signed, transaction_id: TransactionId, result: str, now: int) -> None:
    """Write down a transaction that reached consensus, whatever its result; a repetition, too."""
    body = signed.body
    name = NAMES[body.WhichOneof("data")]
    node = write_id(body.nodeAccountID)
    moved = body.cryptoTransfer.tokenTransfers if result == "SUCCESS" else []
    nft_transfers = [
        nft_transfer(
            write_id(transfers.token),
            transfer.serialNumber,
            write_id(transfer.senderAccountID),
            write_id(transfer.receiverAccountID),
            bool(transfer.is_approval),
        )
        for transfers in moved
        for transfer in transfers.nftTransfers
    ]
    fields = {
        "max_fee": str(body.transactionFee),
        "memo_base64": base64.b64encode(body.memo.encode()).decode(),
        "nft_transfers": nft_transfers,
        "node": node,
        "result": result,
        "transaction_hash": base64.b64encode(signed.hash).decode(),
        "transfers": [
            {"account": transaction_id.account_id, "amount": -FEE_TINYBARS, "is_approval": False},
            {"account": node, "amount": FEE_TINYBARS, "is_approval": False},
        ],
        "valid_duration_seconds": str(body.transactionValidDuration.seconds),
    }
    write_transaction(db, transaction_id, name, now, fields)


def write_executed(db, signed: Signed, transaction_id: TransactionId, now: int) -> None:
    """Write down what a schedule executed: under the id of the transaction that made the schedule."""
    scheduled = signed.body.scheduleCreate.scheduledTransactionBody
    fields = {
        "memo_base64": base64.b64encode(scheduled.memo.encode()).decode(),
        "scheduled": True,
    }
    name = NAMES[scheduled.WhichOneof("data")]
    write_transaction(db, transaction_id, name, now, fields)


def write_transaction(db, transaction_id: TransactionId, name: str, now: int, fields: dict) -> None:
    """Write down a transaction of which only some fields matter."""
    document = {
        "charged_tx_fee": FEE_TINYBARS,
        "consensus_timestamp": times.to_consensus(now),
        "entity_id": None,
        "max_fee": str(FEE_TINYBARS),
        "memo_base64": "",
        "name": name,
        "nft_transfers": [],
        "node": "0.0.3",
        "nonce": 0,
        "parent_consensus_timestamp": None,
        "result": "SUCCESS",
        "scheduled": False,
        "token_transfers": [],
        "transaction_hash": "",
        "transaction_id": transaction_id.dashed,
        "transfers": [],
        "valid_duration_seconds": "120",
        "valid_start_timestamp": f"{transaction_id.seconds}.{transaction_id.nanos:09}",
    }
    queries.insert_transaction(db, now, transaction_id.dashed, json.dumps(document | fields))


def nft_transfer(token: str, serial_no: int, sender: str, receiver: str, is_approval: bool) -> dict:
    return {
        "is_approval": is_approval,
        "receiver_account_id": receiver,
        "sender_account_id": sender,
        "serial_number": serial_no,
        "token_id": token,
    }


def write_nft_transaction(
    db,
    token: str,
    serial_no: int,
    transaction_id: TransactionId,
    now: int,
    name: str,
    *,
    sender_account_id: str | None = None,
    receiver_account_id: str | None = None,
    is_approval: bool = False,
) -> None:
    """Write down what a transaction did to one NFT."""
    document = {
        "consensus_timestamp": times.to_consensus(now),
        "is_approval": is_approval,
        "nonce": 0,
        "receiver_account_id": receiver_account_id,
        "sender_account_id": sender_account_id,
        "transaction_id": transaction_id.dashed,
        "type": name,
    }
    queries.insert_nft_transaction(db, token, serial_no, now, json.dumps(document))
