-- Keep what the operator decides: what is hidden, who is blocked, and what is verified
CREATE TABLE decision (
    kind TEXT NOT NULL CHECK (kind IN ('hidden', 'blocked', 'verified')),
    id TEXT NOT NULL,
    serial_no INTEGER NOT NULL DEFAULT 0 CHECK (serial_no >= 0),
    reason TEXT NOT NULL,
    since TEXT NOT NULL,
    is_public INTEGER NOT NULL CHECK (is_public IN (0, 1)),
    list TEXT,
    PRIMARY KEY (kind, id, serial_no)
) STRICT;
CREATE TABLE hidden_image (
    key TEXT NOT NULL,
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    PRIMARY KEY (key, token, serial_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX hidden_image_by_nft ON hidden_image (token, serial_no);
-- Note of each NFT whether it is hidden, and whether it is for sale here
DROP INDEX nft_by_listing_date;
DROP INDEX nft_in_collection_by_listing_date;
DROP INDEX nft_by_price;
DROP INDEX nft_by_price_descending;
DROP INDEX nft_in_collection_by_price;
DROP INDEX nft_in_collection_by_price_descending;
DROP INDEX nft_by_owner_and_listing_date;
DROP INDEX nft_listed_in_collection;
DROP INDEX nft_in_collection_by_owner;
ALTER TABLE nft ADD COLUMN is_hidden INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1));
ALTER TABLE nft ADD COLUMN is_listed INTEGER NOT NULL DEFAULT 0
    CHECK (is_listed IN (0, 1) AND is_listed <= is_for_sale);
UPDATE nft SET is_listed = 1 WHERE is_for_sale = 1;
CREATE INDEX nft_by_listing_date
    ON nft (listed_order DESC, token, serial_no, listing_price) WHERE is_listed = 1;
CREATE INDEX nft_in_collection_by_listing_date
    ON nft (token, listed_order DESC, serial_no, listing_price) WHERE is_listed = 1;
CREATE INDEX nft_by_price ON nft (listing_price, token, serial_no) WHERE is_listed = 1;
CREATE INDEX nft_by_price_descending
    ON nft (listing_price DESC, token, serial_no) WHERE is_listed = 1;
CREATE INDEX nft_in_collection_by_price
    ON nft (token, listing_price, serial_no) WHERE is_listed = 1;
CREATE INDEX nft_in_collection_by_price_descending
    ON nft (token, listing_price DESC, serial_no) WHERE is_listed = 1;
CREATE INDEX nft_by_owner_and_listing_date
    ON nft (owner, listed_order DESC, token, serial_no) WHERE is_listed = 1;
CREATE INDEX nft_listed_in_collection
    ON nft (token, serial_no, listing_price) WHERE is_listed = 1;
CREATE INDEX nft_withheld ON nft (owner) WHERE is_for_sale = 1 AND is_listed = 0;
CREATE INDEX nft_in_collection_by_owner
    ON nft (token, owner) WHERE ledger_state <> 'gone' AND is_hidden = 0;
-- Note of each collection whether it is hidden, verified, or looks like a verified one
DROP INDEX collection_by_volume;
DROP INDEX collection_by_listed;
DROP INDEX collection_by_number;
ALTER TABLE collection ADD COLUMN is_hidden INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1));
ALTER TABLE collection ADD COLUMN is_verified INTEGER NOT NULL DEFAULT 0 CHECK (is_verified IN (0, 1));
ALTER TABLE collection ADD COLUMN skeleton TEXT NOT NULL DEFAULT '';
ALTER TABLE collection ADD COLUMN is_imitation INTEGER NOT NULL DEFAULT 0 CHECK (is_imitation IN (0, 1));
CREATE INDEX collection_by_skeleton ON collection (skeleton) WHERE skeleton <> '';
CREATE INDEX collection_imitating ON collection (token) WHERE is_imitation = 1;
CREATE INDEX collection_by_volume ON collection ((is_imitation * 1000000000000000000 - volume), token);
CREATE INDEX collection_by_listed ON collection ((is_imitation * 1000000000000000000 - listed), token);
CREATE INDEX collection_by_number ON collection ((is_imitation * 1000000000000000000 - number), token);
-- Give events the kinds HIDDEN and SHOWN
DROP INDEX event_by_date;
DROP INDEX event_by_nft;
DROP INDEX event_by_token;
DROP INDEX event_by_from_account;
DROP INDEX event_by_to_account;
DROP INDEX event_by_kind;
DROP INDEX event_sold;
DROP INDEX event_sold_at;
ALTER TABLE sale RENAME TO earlier_sale;
ALTER TABLE event RENAME TO earlier;
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('ADDED', 'LISTED', 'PRICE_CHANGED', 'WITHDRAWN', 'SOLD', 'TRANSFERRED',
        'BURNED', 'METADATA_CHANGED', 'HIDDEN', 'SHOWN')),
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    from_account TEXT,
    to_account TEXT,
    price INTEGER,
    previous_price INTEGER,
    transaction_id TEXT,
    consensus_at TEXT,
    seen_at TEXT NOT NULL,
    is_hidden INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1)),
    sold_at TEXT GENERATED ALWAYS AS (CASE WHEN kind = 'SOLD' AND is_hidden = 0 THEN consensus_at END) VIRTUAL
) STRICT;
INSERT INTO event (
    id, kind, token, serial_no, from_account, to_account, price, previous_price, transaction_id, consensus_at, seen_at
)
SELECT
    id, kind, token, serial_no, from_account, to_account, price, previous_price, transaction_id, consensus_at, seen_at
FROM earlier;
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
INSERT INTO sale SELECT * FROM earlier_sale;
DROP TABLE earlier_sale;
DROP TABLE earlier;
CREATE INDEX event_by_date ON event ((COALESCE(consensus_at, seen_at)), id);
CREATE INDEX event_by_nft ON event (token, serial_no, id);
CREATE INDEX event_by_token ON event (token, id);
CREATE INDEX event_by_from_account ON event (from_account, id) WHERE from_account IS NOT NULL;
CREATE INDEX event_by_to_account ON event (to_account, id) WHERE to_account IS NOT NULL;
CREATE INDEX event_by_kind ON event (kind, id);
CREATE INDEX event_sold ON event (token, sold_at, price) WHERE sold_at IS NOT NULL;
CREATE INDEX event_sold_at ON event (sold_at, token, price) WHERE sold_at IS NOT NULL;
CREATE INDEX event_of_sale ON event (consensus_at, id) WHERE kind = 'SOLD';
-- Read all names again: the watcher notes what they look like
UPDATE collection SET retry_at = '1970-01-01T00:00:00.000000000Z';
