-- Keep what holds for the whole database, and when jobs were done
CREATE TABLE IF NOT EXISTS property (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS job (
    name TEXT PRIMARY KEY,
    finished_at TEXT NOT NULL
) STRICT;

-- Count listings no more
DROP TRIGGER IF EXISTS listing_counted_in;
DROP TRIGGER IF EXISTS listing_counted_out;
DROP TRIGGER IF EXISTS listing_inserted;
DROP TRIGGER IF EXISTS listing_deleted;
DROP TABLE IF EXISTS listing_count;

-- Sign page tokens no more
DROP TABLE IF EXISTS secret;
DELETE FROM property WHERE name = 'page_key';

-- Forget what only versions of a day have used
DROP TABLE IF EXISTS passed_over;
DROP TABLE IF EXISTS told_listing;
DROP INDEX IF EXISTS prepared_listing_open;
DROP INDEX IF EXISTS prepared_listing_by_expiry;
DROP INDEX IF EXISTS prepared_listing_by_account;
ALTER TABLE prepared_listing DROP COLUMN consensus_at;

-- Look again at every NFT that was decided by the rules of an earlier version
UPDATE nft SET ledger_at = RTRIM(ledger_at, 'Z')
WHERE ledger_at BETWEEN '2000' AND '9000'
  AND NOT EXISTS (SELECT 1 FROM property WHERE name = 'rule');
DELETE FROM property WHERE name = 'rule';

-- Index the order book
DROP INDEX IF EXISTS nft_by_listing_date;
CREATE INDEX nft_by_listing_date
    ON nft (listed_order DESC, token, serial_no) WHERE is_for_sale = 1;

-- Index the listings of each account
DROP INDEX IF EXISTS nft_by_owner_and_listing_date;
CREATE INDEX nft_by_owner_and_listing_date
    ON nft (owner, listed_order DESC, token, serial_no) WHERE is_for_sale = 1;

-- Index what is still to be done
CREATE INDEX IF NOT EXISTS nft_undecided ON nft (owner) WHERE ledger_at = '1970-01-01T00:00:00.000000000Z';
CREATE INDEX IF NOT EXISTS nft_incomplete ON nft (retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX prepared_listing_by_account ON prepared_listing (account_id, expires_at);

-- Let the sandbox's original images follow its address
UPDATE nft SET original_image_url = SUBSTR(original_image_url, INSTR(original_image_url, '/sandbox/ipfs/'))
WHERE original_image_url LIKE 'http%/sandbox/ipfs/%'
  AND EXISTS (SELECT 1 FROM property WHERE name = 'network' AND value = CAST('sandbox' AS BLOB));
