"""Which NFTs, tokens and accounts a transaction may have changed. Nothing is decided here."""

from collections.abc import Iterator

from marketplace import times
from marketplace.ledger.mirror_schemas import Transaction
from marketplace.market.memos import read_named_nft
from marketplace.market.recheck_queue import Recheck

APPROVALS = ("CRYPTOAPPROVEALLOWANCE", "CRYPTODELETEALLOWANCE")
OF_TOKENS = ("TOKENDELETION", "TOKENFEESCHEDULEUPDATE", "TOKENUPDATE", "TOKENUPDATENFTS")
# A transaction may not have touched what it is said to have touched: then its date never comes to be shown.
NAMED_NFT_WAIT = 3600 * times.SECOND
LIST_WAIT = 60 * times.SECOND


def find_rechecks(row: Transaction) -> Iterator[Recheck]:
    """Find what a transaction may have changed. One that failed has changed nothing."""
    if row.result != "SUCCESS":
        return
    moment, list_ok_at = row.consensus_at, row.consensus_at + LIST_WAIT
    for moved in row.nft_transfers:
        if moved.serial_no > 0:
            yield Recheck("nft", moved.token, moved.serial_no, moment)
        else:  # all NFTs of a treasury
            yield Recheck("token", moved.token, 0, moment, list_ok_at)
    if row.name in OF_TOKENS and row.entity_id:
        yield Recheck("token", row.entity_id, 0, moment, list_ok_at)
    if row.name in APPROVALS:
        named = read_named_nft(row.memo)
        if named:
            yield Recheck("nft", *named, moment, moment + NAMED_NFT_WAIT)
        # It may approve others, too. That is rare, and an account may list thousands.
        delay = LIST_WAIT if named else 0
        yield Recheck("account", row.payer, 0, moment, list_ok_at, delay)
