-- Say why the metadata or the image of an NFT is missing, and when to try again
ALTER TABLE nft ADD COLUMN missing TEXT;
ALTER TABLE nft ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE nft ADD COLUMN retry_at TEXT;

-- Try again for all that is incomplete
UPDATE nft SET missing = 'it was not tried for yet', retry_at = ledger_at WHERE is_complete = 0;
ALTER TABLE nft DROP COLUMN is_complete;
