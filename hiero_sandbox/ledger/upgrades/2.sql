-- Keep what holds for the whole database
CREATE TABLE IF NOT EXISTS property (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
-- Let tokens be deleted, and the mirror node give odd answers about NFTs
CREATE TABLE IF NOT EXISTS deleted_token (
    token TEXT PRIMARY KEY,
    deleted_at INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS oddity (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('PARTIAL_HISTORY', 'METADATA_NULL', 'IMPOSSIBLE_ID')),
    PRIMARY KEY (token, serial_no, kind)
) STRICT;

-- Let several records share a transaction id
ALTER TABLE transaction_record RENAME TO earlier_record;
CREATE TABLE transaction_record (
    consensus_at INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL,
    document TEXT NOT NULL
) STRICT;
INSERT INTO transaction_record SELECT consensus_at, transaction_id, document FROM earlier_record;
DROP TABLE earlier_record;
CREATE TABLE IF NOT EXISTS further_record (
    consensus_at INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL,
    document TEXT NOT NULL
) STRICT;
INSERT INTO transaction_record SELECT consensus_at, transaction_id, document FROM further_record;
DROP TABLE further_record;
CREATE INDEX transaction_record_by_id ON transaction_record (transaction_id);
