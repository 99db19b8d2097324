-- Find events between two dates
CREATE INDEX event_by_date ON event ((COALESCE(consensus_at, seen_at)), id);
