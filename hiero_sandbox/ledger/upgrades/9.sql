-- Remove the deletion of accounts, which no transaction brings about any more
ALTER TABLE account DROP COLUMN deleted_at;
-- Keep custom fees in the tokens' definitions
DROP TABLE fee_schedule;
ALTER TABLE token ADD COLUMN fees_at INTEGER NOT NULL DEFAULT 0;
