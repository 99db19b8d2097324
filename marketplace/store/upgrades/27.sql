-- Let an entry of the queue of rechecks say what changed, and since when; a sweep keeps its own place
DROP INDEX recheck_due;
ALTER TABLE recheck RENAME TO earlier_recheck;
CREATE TABLE recheck (
    kind TEXT NOT NULL CHECK (kind IN ('nft', 'token', 'account', 'seller')),
    id TEXT NOT NULL, -- of a token, or of an account
    serial_no INTEGER NOT NULL CHECK ((kind = 'nft') = (serial_no > 0)), -- 0 for a token or an account
    changed_at TEXT NOT NULL, -- consensus timestamp of the newest such transaction
    since TEXT NOT NULL, -- of the oldest one since the last final check; 1970: it was never compared
    due_at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, id, serial_no)
) STRICT;
CREATE INDEX recheck_due ON recheck (kind, due_at);
INSERT INTO recheck (kind, id, serial_no, changed_at, since, due_at, attempts)
SELECT kind, id, serial_no, changed_at,
    COALESCE(first_changed_at, CASE WHEN changed_at > '1970-01-01T00:00:00.000000000Z' THEN changed_at ELSE due_at END),
    due_at, attempts
FROM earlier_recheck
WHERE is_swept = 0 OR changed_at > '1970-01-01T00:00:00.000000000Z';
INSERT INTO recheck (kind, id, serial_no, changed_at, since, due_at)
SELECT 'seller', id, serial_no, bulk_listed_at, bulk_listed_at, due_at
FROM earlier_recheck
WHERE bulk_listed_at IS NOT NULL;
DROP TABLE earlier_recheck;
-- A sweep that is running begins again
ALTER TABLE follow ADD COLUMN swept_to TEXT;
UPDATE follow SET sweep_began_at = NULL;
