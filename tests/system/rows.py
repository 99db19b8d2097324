"""Rows of every table."""

from harness.engines import execute


def insert(path, name="x", count=1):
    sql = """
        WITH RECURSIVE n (serial_no) AS (
            SELECT 1 UNION ALL SELECT serial_no + 1 FROM n WHERE serial_no < ?
        )
        INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at, metadata)
        SELECT '0.0.6000', serial_no, ?, 'image/png', '0.0.1001', '2026-11-20T12:34:56.789012345Z', ?
        FROM n
    """
    execute(path, sql, count, name, "ipfs://x/y.json" * 8)


def sell(path, royalties):
    """A sale of each NFT."""
    event = """
        INSERT INTO event (kind, token, serial_no, to_account, seen_at)
        SELECT 'SOLD', token, serial_no, owner, ledger_at FROM nft
    """
    execute(path, event)
    sale = "INSERT INTO sale (event_id, royalties) SELECT id, ? FROM event WHERE kind = 'SOLD'"
    execute(path, f"{sale} AND id NOT IN (SELECT event_id FROM sale)", royalties)
