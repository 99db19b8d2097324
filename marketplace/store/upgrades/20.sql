-- Note how collections describe themselves, once the watcher has read it
ALTER TABLE collection ADD COLUMN metadata TEXT;
ALTER TABLE collection ADD COLUMN description TEXT;
ALTER TABLE collection ADD COLUMN banner TEXT;
ALTER TABLE collection ADD COLUMN logo TEXT;
ALTER TABLE collection ADD COLUMN links TEXT;
ALTER TABLE collection ADD COLUMN describe_at TEXT;
ALTER TABLE collection ADD COLUMN describe_attempts INTEGER NOT NULL DEFAULT 0;
CREATE INDEX collection_to_describe ON collection (describe_at) WHERE describe_at IS NOT NULL;
UPDATE collection SET retry_at = '1970-01-01T00:00:00.000000000Z';
