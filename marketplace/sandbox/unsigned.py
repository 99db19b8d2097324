"""What happens on the demo's ledger without a signature: first owners of NFTs, and sales elsewhere."""

from hiero_sandbox.database import database
from hiero_sandbox.ledger import accounts, nfts, queries, records, tokens
from hiero_sandbox.ledger.consensus import Receipt
from hiero_sandbox.ledger.envelopes import Refused
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.ledger.unsigned import begin
from hiero_sandbox.versions import set_clock
from marketplace.sandbox.catalogue import TREASURY


def mint(token: str, serial_no: int, owner: str, now: int) -> None:
    """Give an NFT of the catalogue that nobody has asked for yet to its first owner."""
    with database().write() as db:
        is_there = tokens.find(db, token).is_created or nfts.find(db, token, serial_no)
        if is_there or queries.is_deleted(db, token) or accounts.get(db, owner).is_deleted:
            return
        set_clock(db, now)
        accounts.associate(db, owner, token, now)
        metadata = db.world.find_metadata(token, serial_no)
        nfts.put(db, Nft(token, serial_no, owner, None, now, now, metadata))
        columns = {"serial_no": serial_no, "consensus_at": now, "owner": owner}
        queries.put(db, "gift", token=token, **columns)


def hand_over(token: str, serial_no: int, receiver: str, now: int) -> Receipt:
    """Move an NFT to another account, as a sale on another market would. Its owner does not sign."""
    with database().write() as db:
        nft = nfts.get(db, token, serial_no)
        owner, modified_at = (nft.owner, nft.modified_at) if nft else (TREASURY, 0)
        now = max(now, queries.get_last_consensus(db) + 1, modified_at + 1)
        set_clock(db, now)
        transfer = begin(db, owner or TREASURY, now, "cryptoTransfer")
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
