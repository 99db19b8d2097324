-- Find what an account holds
CREATE INDEX nft_by_owner ON nft (owner, token, serial_no) WHERE ledger_at < '9999';

-- Count what is listed of each collection
ALTER TABLE collection ADD COLUMN listed INTEGER NOT NULL DEFAULT 0 CHECK (listed >= 0);
UPDATE collection SET listed = (
    SELECT COUNT(*) FROM nft WHERE is_for_sale = 1 AND nft.token = collection.token
);

-- Make collections found by words; the watcher reads their names from the ledger again
ALTER TABLE collection ADD COLUMN sort_name TEXT NOT NULL DEFAULT '';
ALTER TABLE collection ADD COLUMN number INTEGER NOT NULL
    GENERATED ALWAYS AS (CAST(SUBSTR(token, LENGTH(RTRIM(token, '0123456789')) + 1) AS INTEGER)) VIRTUAL;
CREATE INDEX collection_by_volume ON collection ((-volume), token);
CREATE INDEX collection_by_listed ON collection ((-listed), token);
CREATE INDEX collection_by_name ON collection (sort_name, token);
CREATE INDEX collection_by_number ON collection ((-number), token);
CREATE TABLE collection_word (
    word TEXT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (word, token)
) STRICT;
CREATE INDEX collection_word_by_token ON collection_word (token, word);
CREATE INDEX event_sold_at ON event (kind, consensus_at, token, price) WHERE kind = 'SOLD';
UPDATE collection SET retry_at = '1970-01-01T00:00:00.000000000Z' WHERE name IS NOT NULL;

-- Let the queue say how far a sweep is
ALTER TABLE follow DROP COLUMN swept_to;
UPDATE follow SET sweep_began_at = NULL;
ALTER TABLE recheck ADD COLUMN is_swept INTEGER NOT NULL DEFAULT 0 CHECK (is_swept IN (0, 1));
