-- Index what is incomplete by collection, so that none keeps another's waiting
DROP INDEX IF EXISTS nft_incomplete;
CREATE INDEX nft_incomplete ON nft (token, retry_at) WHERE retry_at IS NOT NULL;

-- Let an access token have a rate of its own, and tell when it was last used
ALTER TABLE access_token ADD COLUMN rate TEXT;
ALTER TABLE access_token ADD COLUMN last_used_at TEXT;
