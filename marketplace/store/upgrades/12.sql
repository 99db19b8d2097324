-- Index sales by their own date: PostgreSQL read all sales of all time, for each collection of a page
ALTER TABLE event ADD COLUMN sold_at TEXT
    GENERATED ALWAYS AS (CASE WHEN kind = 'SOLD' THEN consensus_at END) VIRTUAL;
DROP INDEX event_sold;
DROP INDEX event_sold_at;
CREATE INDEX event_sold ON event (token, sold_at, price) WHERE sold_at IS NOT NULL;
CREATE INDEX event_sold_at ON event (sold_at, token, price) WHERE sold_at IS NOT NULL;
