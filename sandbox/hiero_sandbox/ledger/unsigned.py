"""What nobody signs and nobody pays for: first owners of NFTs, rewards, the faucet, and sales elsewhere."""

from collections import Counter

from hiero_sdk_python.hapi.services.basic_types_pb2 import TransactionID
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox.database import Connection
from hiero_sandbox.ids import MAX_INT64
from hiero_sandbox.ledger import accounts, genesis, nfts, queries, records, tokens
from hiero_sandbox.ledger.consensus import NODE, Ledger, Receipt
from hiero_sandbox.ledger.envelopes import Refused, Signed
from hiero_sandbox.ledger.execution import Execution
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.messages import account, timestamp
from hiero_sandbox.versions import set_clock


def _unsigned(db: Connection, payer: str, now: int, kind: str) -> Execution:
    id = TransactionID(accountID=account(payer), transactionValidStart=timestamp(now))
    body = TransactionBody(
        transactionID=id,
        nodeAccountID=account("0.0.3"),
        transactionValidDuration={"seconds": 120},
    )
    getattr(body, kind).SetInParent()
    return Execution(db, NODE, Signed(body, b"", pairs=[], size=0, hash=b""), now, fee=0)


def mint(ledger: Ledger, token: str, serial_no: int, owner: str, now: int) -> None:
    """Give an NFT of the catalogue that nobody has asked for yet to its first owner."""
    with ledger.write() as db:
        is_there = tokens.find(db, token).is_created or nfts.find(db, token, serial_no)
        if is_there or queries.is_deleted(db, token) or accounts.get(db, owner).is_deleted:
            return
        set_clock(db, now)
        accounts.associate(db, owner, token, now)
        metadata = db.world.find_metadata(token, serial_no)
        nfts.put(db, Nft(token, serial_no, owner, None, now, now, metadata))
        columns = {"serial_no": serial_no, "consensus_at": now, "owner": owner}
        queries.put(db, "gift", token=token, **columns)


def add_reward(ledger: Ledger, account_id: str, amount: int, now: int) -> int:
    """Let an account have earned a staking reward, in tinybars. Returns all that is not paid yet."""
    with ledger.write() as db:
        set_clock(db, now)
        pending = min(accounts.get(db, account_id).pending_reward + amount, MAX_INT64)
        accounts.change(db, account_id, now, pending_reward=pending)
    return pending


def give(ledger: Ledger, account_id: str, amount: int, now: int) -> Receipt:
    """Move tinybars of the operator to another account."""
    changes = Counter[tuple[str, str | None]]({(genesis.OPERATOR, None): -amount})
    changes[account_id, None] += amount
    try:
        with ledger.write() as db:
            now = max(now, queries.get_last_consensus(db) + 1)
            set_clock(db, now)
            transfer = _unsigned(db, genesis.OPERATOR, now, "cryptoTransfer")
            transfer.move(changes)
            records.write(transfer)
    except Refused as refusal:
        return Receipt(str(transfer.id), str(refusal), reached_consensus=False)
    return Receipt(str(transfer.id), "SUCCESS")


def hand_over(ledger: Ledger, token: str, serial_no: int, receiver: str, now: int) -> Receipt:
    """Move an NFT to another account, as a sale on another market would. Its owner does not sign."""
    with ledger.write() as db:
        nft = nfts.get(db, token, serial_no)
        owner, modified_at = (nft.owner, nft.modified_at) if nft else (queries.TREASURY, 0)
        now = max(now, queries.get_last_consensus(db) + 1, modified_at + 1)
        set_clock(db, now)
        transfer = _unsigned(db, owner or queries.TREASURY, now, "cryptoTransfer")
        try:
            tokens.get_usable(db, token)
            nft = nfts.require(nft)
            accounts.require_usable(db, receiver)
            accounts.associate_receiver(db, receiver, token, now)
        except Refused as refusal:
            return Receipt(str(transfer.id), str(refusal), reached_consensus=False)
        transfer.move_nft(nft, receiver)
        records.write(transfer)
    return Receipt(str(transfer.id), "SUCCESS")
