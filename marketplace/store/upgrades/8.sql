-- Keep what happens to NFTs from now on: the feed of events begins here
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('ADDED', 'LISTED', 'PRICE_CHANGED', 'WITHDRAWN', 'SOLD', 'TRANSFERRED',
        'BURNED', 'METADATA_CHANGED')),
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    from_account TEXT,
    to_account TEXT,
    price INTEGER,
    previous_price INTEGER,
    transaction_id TEXT,
    consensus_at TEXT,
    seen_at TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX event_by_nft ON event (token, serial_no, id);
CREATE INDEX event_by_token ON event (token, id);
CREATE INDEX event_by_from_account ON event (from_account, id) WHERE from_account IS NOT NULL;
CREATE INDEX event_by_to_account ON event (to_account, id) WHERE to_account IS NOT NULL;
CREATE INDEX event_by_kind ON event (kind, id);
CREATE INDEX event_sold ON event (kind, token, consensus_at, price) WHERE kind = 'SOLD';

-- Make room for webhooks
CREATE TABLE webhook (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    kinds TEXT NOT NULL,
    is_private INTEGER NOT NULL CHECK (is_private IN (0, 1)),
    salt TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    delivered_to INTEGER NOT NULL,
    failure TEXT,
    failed_since TEXT,
    due_at TEXT
) STRICT;

-- Add up what is sold of each collection from now on
ALTER TABLE collection ADD COLUMN sales INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN volume INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN last_sale_price INTEGER;
ALTER TABLE collection ADD COLUMN last_sale_at TEXT;
