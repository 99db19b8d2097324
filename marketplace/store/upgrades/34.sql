-- From 0.4.0, whose schema is version 33.
-- Note what verified collections were called
ALTER TABLE decision ADD COLUMN name TEXT;
ALTER TABLE decision ADD COLUMN symbol TEXT;
UPDATE decision
SET name = (SELECT name FROM collection WHERE token = decision.id),
    symbol = (SELECT symbol FROM collection WHERE token = decision.id)
WHERE kind = 'verified';
-- Keep what was handed out unsigned
ALTER TABLE prepared_transaction ADD COLUMN unsigned BLOB;
-- Keep the traits of hidden NFTs
CREATE INDEX nft_hidden ON nft (token, serial_no) WHERE is_hidden = 1;
UPDATE nft SET attributes = NULL WHERE is_hidden = 1;
-- Note which decisions are still to be applied
CREATE TABLE decision_to_apply (
    kind TEXT NOT NULL CHECK (kind IN ('hidden', 'blocked')),
    id TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    PRIMARY KEY (kind, id, serial_no)
) STRICT;
-- Note which hidden images are still to be removed
ALTER TABLE hidden_image ADD COLUMN is_removed INTEGER NOT NULL DEFAULT 0 CHECK (is_removed IN (0, 1));
CREATE INDEX hidden_image_to_remove ON hidden_image (key) WHERE is_removed = 0;
-- Forget the listings and offers of blocked accounts that no list shows
DELETE FROM event
WHERE is_hidden = 1 AND kind IN ('LISTED', 'PRICE_CHANGED', 'OFFERED', 'OFFER_WITHDRAWN', 'OFFER_EXPIRED', 'OFFER_FAILED')
  AND EXISTS (SELECT 1 FROM decision WHERE decision.kind = 'blocked' AND decision.id IN (from_account, to_account))
  AND id < (SELECT MAX(id) FROM event);
-- Let the watcher rank collections
ALTER TABLE collection DROP COLUMN listings_version;
ALTER TABLE collection ADD COLUMN ranked_version INTEGER NOT NULL DEFAULT 0;
CREATE INDEX collection_to_rank ON collection (token) WHERE traits_version > ranked_version;
CREATE TABLE ranking (
    token TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    trait_values TEXT NOT NULL,
    ranks TEXT NOT NULL
) STRICT;
UPDATE collection SET traits_version = traits_version + 1;
