-- Give the state of an NFT a column of its own, beside its date
DROP INDEX nft_undecided;
DROP INDEX nft_by_owner;
DROP INDEX nft_in_collection_by_owner;
ALTER TABLE nft ADD COLUMN ledger_state TEXT NOT NULL DEFAULT 'decided'
    CHECK (ledger_state IN ('decided', 'row_only', 'undecided', 'gone'));
UPDATE nft SET ledger_state = 'row_only', ledger_at = ledger_at || 'Z' WHERE LENGTH(ledger_at) = 29;
UPDATE nft SET ledger_state = 'undecided', ledger_at = SUBSTR(ledger_at, 1, 29) || 'Z'
WHERE SUBSTR(ledger_at, 30) = '?';
-- Where nobody knows when an NFT was burned, its date becomes 1970
UPDATE nft SET ledger_state = 'gone', ledger_at = COALESCE(
    (SELECT MAX(e.consensus_at) FROM event AS e WHERE e.token = nft.token AND e.serial_no = nft.serial_no),
    '1970-01-01T00:00:00.000000000Z'
)
WHERE ledger_at >= '9999';
CREATE INDEX nft_undecided ON nft (owner) WHERE ledger_state = 'undecided';
CREATE INDEX nft_by_owner ON nft (owner, token, serial_no) WHERE ledger_state <> 'gone';
CREATE INDEX nft_in_collection_by_owner ON nft (token, owner) WHERE ledger_state <> 'gone';
