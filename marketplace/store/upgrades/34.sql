-- From 0.4.0, whose schema is version 33.
-- Note what verified collections were called
ALTER TABLE decision ADD COLUMN name TEXT;
ALTER TABLE decision ADD COLUMN symbol TEXT;
UPDATE decision
SET name = (SELECT name FROM collection WHERE token = decision.id),
    symbol = (SELECT symbol FROM collection WHERE token = decision.id)
WHERE kind = 'verified';
-- Keep the traits of hidden NFTs
CREATE INDEX nft_hidden ON nft (token, serial_no) WHERE is_hidden = 1;
UPDATE nft SET attributes = NULL WHERE is_hidden = 1;
-- Note which decisions are still to be applied
CREATE TABLE decision_to_apply (
    kind TEXT NOT NULL CHECK (kind IN ('hidden', 'blocked')),
    id TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    PRIMARY KEY (kind, id, serial_no)
) STRICT;
-- Note which hidden images are still to be removed
ALTER TABLE hidden_image ADD COLUMN is_removed INTEGER NOT NULL DEFAULT 0 CHECK (is_removed IN (0, 1));
CREATE INDEX hidden_image_to_remove ON hidden_image (is_removed, key) WHERE is_removed = 0;
-- Forget the listings and offers of blocked accounts that no list shows
DELETE FROM event
WHERE is_hidden = 1 AND kind IN ('LISTED', 'PRICE_CHANGED', 'OFFERED', 'OFFER_WITHDRAWN', 'OFFER_EXPIRED', 'OFFER_FAILED')
  AND EXISTS (SELECT 1 FROM decision WHERE decision.kind = 'blocked' AND decision.id IN (from_account, to_account))
  AND id < (SELECT MAX(id) FROM event);
-- Let the watcher rank collections
ALTER TABLE collection DROP COLUMN listings_version;
ALTER TABLE collection ADD COLUMN ranked_version INTEGER NOT NULL DEFAULT 0;
CREATE INDEX collection_to_rank ON collection (token) WHERE traits_version > ranked_version;
CREATE TABLE ranking (
    token TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    trait_values TEXT NOT NULL,
    ranks TEXT NOT NULL
) STRICT;
UPDATE collection SET traits_version = traits_version + 1;
-- Find offers again: each is its bidder's own schedule now
DROP TABLE offer;
CREATE TABLE offer (
    schedule_id TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK (serial_no > 0),
    seller TEXT NOT NULL,
    bidder TEXT NOT NULL,
    price INTEGER NOT NULL CHECK (price BETWEEN 1 AND 50000000000),
    transaction_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    body BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'executed', 'failed', 'withdrawn', 'expired')),
    state_at TEXT NOT NULL,
    accepted_at TEXT,
    is_covered INTEGER NOT NULL DEFAULT 0 CHECK (is_covered IN (0, 1)),
    covered_at TEXT
) STRICT;
CREATE INDEX offer_by_nft ON offer (token, serial_no, price DESC, schedule_id) WHERE state = 'open';
CREATE INDEX offer_by_token ON offer (token, price DESC, schedule_id) WHERE state = 'open';
CREATE INDEX offer_by_bidder ON offer (bidder, price DESC, schedule_id);
CREATE INDEX offer_by_seller ON offer (seller, price DESC, schedule_id) WHERE state = 'open';
CREATE INDEX offer_by_transaction ON offer (transaction_id);
CREATE INDEX offer_unended ON offer (expires_at) WHERE state IN ('open', 'closed');
CREATE INDEX offer_ended ON offer (expires_at) WHERE state IN ('executed', 'failed', 'withdrawn', 'expired');
CREATE INDEX offer_unended_by_bidder ON offer (bidder, schedule_id) WHERE state IN ('open', 'closed');
CREATE INDEX offer_to_cover ON offer ((COALESCE(covered_at, ''))) WHERE state = 'open';
DELETE FROM recheck WHERE kind = 'offer';
UPDATE follow SET began_at = cursor_at, backfilled_to = '1970-01-01T00:00:00.000000000Z';
-- Leave out what the marketplace signed and paid for offers
DROP INDEX preparation_by_expiry;
DROP INDEX purchase_by_expiry;
DROP INDEX purchase_unsettled;
DROP INDEX prepared_offer;
DROP INDEX prepared_by_schedule;
DROP INDEX prepared_nft_by_nft;
ALTER TABLE prepared_nft RENAME TO earlier_nft;
ALTER TABLE prepared_transaction RENAME TO earlier;
CREATE TABLE prepared_transaction (
    transaction_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('listing', 'withdrawal', 'purchase', 'offer', 'acceptance',
        'offer_withdrawal')),
    account_id TEXT NOT NULL,
    memo TEXT NOT NULL,
    wallet TEXT NOT NULL,
    prepared_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    caller TEXT NOT NULL,
    end_user TEXT NOT NULL,
    schedule_id TEXT,
    fee_tinybars INTEGER CHECK (fee_tinybars >= 0),
    is_settled INTEGER CHECK (is_settled IN (0, 1)),
    is_sold INTEGER CHECK (is_sold IN (0, 1)),
    signed BLOB,
    charged_to TEXT,
    unsigned BLOB,
    CHECK ((kind = 'purchase') = (fee_tinybars IS NOT NULL)),
    CHECK ((kind = 'purchase') = (is_settled IS NOT NULL))
) STRICT;
CREATE TABLE prepared_nft (
    transaction_id TEXT NOT NULL REFERENCES prepared_transaction (transaction_id) ON DELETE CASCADE,
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    price INTEGER CHECK (price BETWEEN 1 AND 50000000000),
    seller TEXT,
    PRIMARY KEY (transaction_id, token, serial_no),
    FOREIGN KEY (token, serial_no) REFERENCES nft (token, serial_no)
) STRICT, WITHOUT ROWID;
INSERT INTO prepared_transaction (
    transaction_id, kind, account_id, memo, wallet, prepared_at, expires_at, caller, end_user, schedule_id,
    fee_tinybars, is_settled, is_sold, signed, charged_to
)
SELECT
    transaction_id, kind, account_id, memo, wallet, prepared_at, expires_at, caller, end_user, schedule_id,
    fee_tinybars, is_settled, is_sold, signed, charged_to
FROM earlier WHERE kind NOT IN ('offer', 'offer_signature', 'offer_deletion');
INSERT INTO prepared_nft (transaction_id, token, serial_no, price, seller)
SELECT transaction_id, token, serial_no, price, seller
FROM earlier_nft WHERE transaction_id IN (SELECT transaction_id FROM prepared_transaction);
DROP TABLE earlier_nft;
DROP TABLE earlier;
CREATE INDEX preparation_by_expiry
    ON prepared_transaction (expires_at, account_id) WHERE is_settled IS NULL;
CREATE INDEX purchase_by_expiry
    ON prepared_transaction (expires_at, fee_tinybars) WHERE is_settled IS NOT NULL;
CREATE INDEX purchase_unsettled ON prepared_transaction (expires_at) WHERE is_settled = 0;
CREATE INDEX prepared_by_schedule ON prepared_transaction (schedule_id, account_id) WHERE schedule_id IS NOT NULL;
CREATE INDEX prepared_nft_by_nft ON prepared_nft (token, serial_no, transaction_id);
-- Give events the kind of an acceptance that did not execute the sale
DROP INDEX event_by_nft;
DROP INDEX event_by_token;
DROP INDEX event_by_from_account;
DROP INDEX event_by_to_account;
DROP INDEX event_by_date;
DROP INDEX event_by_kind;
DROP INDEX event_sold;
DROP INDEX event_sold_at;
DROP INDEX event_of_sale;
ALTER TABLE sale RENAME TO earlier_sale;
ALTER TABLE event RENAME TO earlier_event;
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('ADDED', 'LISTED', 'PRICE_CHANGED', 'WITHDRAWN', 'SOLD', 'TRANSFERRED',
        'BURNED', 'METADATA_CHANGED', 'HIDDEN', 'SHOWN', 'OFFERED', 'OFFER_WITHDRAWN', 'OFFER_EXPIRED',
        'OFFER_FAILED', 'OFFER_NOT_EXECUTED')),
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
    offer_id TEXT,
    received INTEGER,
    sold_at TEXT GENERATED ALWAYS AS (CASE WHEN kind = 'SOLD' AND is_hidden = 0 THEN consensus_at END) VIRTUAL
) STRICT;
INSERT INTO event (
    id, kind, token, serial_no, from_account, to_account, price, previous_price, transaction_id, consensus_at,
    seen_at, is_hidden, offer_id
)
SELECT
    id, kind, token, serial_no, from_account, to_account, price, previous_price, transaction_id, consensus_at,
    seen_at, is_hidden, offer_id
FROM earlier_event;
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
INSERT INTO sale (
    event_id, way, part_tinybars, royalties, network_tinybars, association_tinybars, rate_cents, rate_hbar
)
SELECT
    event_id, way, part_tinybars, royalties, network_tinybars, association_tinybars, rate_cents, rate_hbar
FROM earlier_sale;
DROP TABLE earlier_sale;
DROP TABLE earlier_event;
CREATE INDEX event_by_nft ON event (token, serial_no, id);
CREATE INDEX event_by_token ON event (token, id);
CREATE INDEX event_by_from_account ON event (from_account, id) WHERE from_account IS NOT NULL;
CREATE INDEX event_by_to_account ON event (to_account, id) WHERE to_account IS NOT NULL;
CREATE INDEX event_by_date ON event ((COALESCE(consensus_at, seen_at)), id);
CREATE INDEX event_by_kind ON event (kind, id);
CREATE INDEX event_sold ON event (token, sold_at, price) WHERE sold_at IS NOT NULL;
CREATE INDEX event_sold_at ON event (sold_at, token, price) WHERE sold_at IS NOT NULL;
CREATE INDEX event_of_sale ON event (consensus_at, id) WHERE kind = 'SOLD';
-- Read collections again soon, whose names may look like others
DROP INDEX collection_by_skeleton;
ALTER TABLE collection DROP COLUMN skeleton;
CREATE TABLE collection_skeleton (
    skeleton TEXT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (skeleton, token)
) STRICT;
CREATE INDEX collection_skeleton_by_token ON collection_skeleton (token, skeleton);
UPDATE collection SET retry_at = '2026-11-28T00:00:00.000000000Z' WHERE read_at IS NOT NULL;
-- Keep whether the issuer can change the fees
ALTER TABLE collection ADD COLUMN can_change_fees INTEGER CHECK (can_change_fees IN (0, 1));
-- Let the watcher count each collection's hours, from the events that are kept
ALTER TABLE collection ADD COLUMN sales_7d INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN volume_7d INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN sales_30d INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN volume_30d INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN owners INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN floor_price INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN floor_price_24h_ago INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection ADD COLUMN figures_due_at TEXT DEFAULT '1970-01-01T00:00:00.000000000Z';
CREATE INDEX collection_by_sales_7d ON collection ((is_imitation * 1000000000000000000 - sales_7d), token);
CREATE INDEX collection_by_volume_7d ON collection ((is_imitation * 1000000000000000000 - volume_7d), token);
CREATE INDEX collection_by_sales_30d ON collection ((is_imitation * 1000000000000000000 - sales_30d), token);
CREATE INDEX collection_by_volume_30d ON collection ((is_imitation * 1000000000000000000 - volume_30d), token);
CREATE INDEX collection_by_owners ON collection ((is_imitation * 1000000000000000000 - owners), token);
CREATE INDEX collection_by_floor ON collection ((is_imitation * 1000000000000000000 - floor_price), token);
CREATE INDEX collection_by_floor_24h_ago
    ON collection ((is_imitation * 1000000000000000000 - floor_price_24h_ago), token);
CREATE INDEX collection_figures_due ON collection (figures_due_at) WHERE figures_due_at IS NOT NULL;
CREATE TABLE collection_hour (
    token TEXT NOT NULL,
    hour TEXT NOT NULL,
    sales INTEGER NOT NULL,
    volume INTEGER NOT NULL,
    lowest_price INTEGER,
    highest_price INTEGER,
    floor_price INTEGER,
    PRIMARY KEY (token, hour)
) STRICT, WITHOUT ROWID;
-- Let an account's summary find its sales
CREATE INDEX event_sold_by ON event (from_account, token, price) WHERE kind = 'SOLD' AND is_hidden = 0;
CREATE INDEX event_bought_by ON event (to_account, token, price) WHERE kind = 'SOLD' AND is_hidden = 0;
-- Sort an account's listings by price
CREATE INDEX nft_by_owner_and_price
    ON nft (owner, listing_price, token, serial_no) WHERE is_listed = 1;
CREATE INDEX nft_by_owner_and_price_descending
    ON nft (owner, listing_price DESC, token, serial_no) WHERE is_listed = 1;
-- Keep the date of the last sweep beside the other dates
INSERT INTO property (name, value)
SELECT 'last_sweep', CAST(finished_at AS BLOB) FROM job WHERE name = 'sync';
DROP TABLE job;
-- Keep which operator decided something in the console
ALTER TABLE decision ADD COLUMN decided_by TEXT;
