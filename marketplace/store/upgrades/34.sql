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
