-- Sign no purchase at a price that a listing of several NFTs may have changed
ALTER TABLE recheck ADD COLUMN bulk_listed_at TEXT;
