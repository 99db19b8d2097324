-- Keep what the ledger charged for each sale, and the exchange rates
CREATE TABLE sale (
    event_id INTEGER PRIMARY KEY REFERENCES event (id) ON DELETE CASCADE,
    way TEXT CHECK (way IN ('single', 'basket', 'offer')),
    part_tinybars INTEGER,
    royalties TEXT,
    network_tinybars INTEGER,
    association_tinybars INTEGER,
    rate_cents INTEGER,
    rate_hbar INTEGER
) STRICT;
CREATE TABLE exchange_rate (
    read_at TEXT PRIMARY KEY,
    cents INTEGER NOT NULL,
    hbar INTEGER NOT NULL
) STRICT;
