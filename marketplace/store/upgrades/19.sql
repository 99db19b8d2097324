-- Hold the date of the last sync back until the first of several changes is shown
ALTER TABLE recheck ADD COLUMN first_changed_at TEXT;
UPDATE recheck SET first_changed_at = changed_at WHERE changed_at > '1970-01-01T00:00:00.000000000Z';
