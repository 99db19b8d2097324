-- Note when metadata is read again: at once if it may have been replaced at its address
ALTER TABLE nft ADD COLUMN asked_at TEXT;
ALTER TABLE nft ADD COLUMN read_at TEXT;
ALTER TABLE nft ADD COLUMN reread_at TEXT;
CREATE INDEX nft_to_reread ON nft (reread_at) WHERE reread_at IS NOT NULL;
UPDATE nft SET reread_at = '1970-01-01T00:00:00.000000000Z'
WHERE retry_at IS NULL AND ledger_at < '9999' AND (
    LOWER(metadata) LIKE 'http://%' OR LOWER(metadata) LIKE 'https://%' OR LOWER(metadata) LIKE 'hcs://6/%'
);
-- Have the watcher read the names of all collections again: for search in Chinese, Japanese and Korean
UPDATE collection SET retry_at = '1970-01-01T00:00:00.000000000Z';
