-- Count the changes of each collection's listings: what was read of them is right until the next one
ALTER TABLE collection ADD COLUMN listings_version INTEGER NOT NULL DEFAULT 0;
