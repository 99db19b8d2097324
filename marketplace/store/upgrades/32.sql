-- Keep the offers on the ledger: schedules of the marketplace's account
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
    state TEXT NOT NULL CHECK (state IN ('unsigned', 'signed', 'executed', 'failed', 'withdrawn', 'expired')),
    state_at TEXT NOT NULL,
    opened_at TEXT,
    is_covered INTEGER NOT NULL DEFAULT 0 CHECK (is_covered IN (0, 1)),
    covered_at TEXT
) STRICT;
CREATE INDEX offer_by_nft ON offer (token, serial_no, price DESC, schedule_id) WHERE state = 'signed';
CREATE INDEX offer_by_token ON offer (token, price DESC, schedule_id) WHERE state = 'signed';
CREATE INDEX offer_by_bidder ON offer (bidder, price DESC, schedule_id) WHERE state = 'signed';
CREATE INDEX offer_by_seller ON offer (seller, price DESC, schedule_id) WHERE state = 'signed';
CREATE INDEX offer_by_transaction ON offer (transaction_id);
CREATE INDEX offer_unended ON offer (expires_at) WHERE state IN ('unsigned', 'signed');
CREATE INDEX offer_unended_by_bidder ON offer (bidder, schedule_id) WHERE state IN ('unsigned', 'signed');
CREATE INDEX offer_to_cover ON offer ((COALESCE(covered_at, ''))) WHERE state = 'signed';
-- Give prepared transactions the kinds of offers, and the schedule that they are about
DROP INDEX preparation_by_expiry;
DROP INDEX purchase_by_expiry;
DROP INDEX purchase_unsettled;
DROP INDEX prepared_nft_by_nft;
ALTER TABLE prepared_nft RENAME TO earlier_nft;
ALTER TABLE prepared_transaction RENAME TO earlier;
CREATE TABLE prepared_transaction (
    transaction_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('listing', 'withdrawal', 'purchase', 'offer', 'offer_signature',
        'acceptance', 'offer_withdrawal', 'offer_deletion')),
    account_id TEXT NOT NULL,
    memo TEXT NOT NULL,
    wallet TEXT NOT NULL,
    prepared_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    caller TEXT NOT NULL,
    end_user TEXT NOT NULL,
    schedule_id TEXT,
    schedule_expires_at TEXT,
    fee_tinybars INTEGER CHECK (fee_tinybars >= 0),
    is_settled INTEGER CHECK (is_settled IN (0, 1)),
    is_sold INTEGER CHECK (is_sold IN (0, 1)),
    signed BLOB,
    charged_to TEXT,
    CHECK ((kind IN ('purchase', 'offer', 'offer_deletion')) = (fee_tinybars IS NOT NULL)),
    CHECK ((kind IN ('purchase', 'offer', 'offer_deletion')) = (is_settled IS NOT NULL))
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
    transaction_id, kind, account_id, memo, wallet, prepared_at, expires_at, caller, end_user,
    fee_tinybars, is_settled, is_sold, signed, charged_to
)
SELECT
    transaction_id, kind, account_id, memo, wallet, prepared_at, expires_at, caller, end_user,
    fee_tinybars, is_settled, is_sold, signed, charged_to
FROM earlier;
INSERT INTO prepared_nft (transaction_id, token, serial_no, price, seller)
SELECT transaction_id, token, serial_no, price, seller FROM earlier_nft;
DROP TABLE earlier_nft;
DROP TABLE earlier;
CREATE INDEX preparation_by_expiry
    ON prepared_transaction (expires_at, account_id) WHERE is_settled IS NULL;
CREATE INDEX purchase_by_expiry
    ON prepared_transaction (expires_at, fee_tinybars) WHERE is_settled IS NOT NULL;
CREATE INDEX purchase_unsettled ON prepared_transaction (expires_at) WHERE is_settled = 0;
CREATE INDEX prepared_offer
    ON prepared_transaction (caller, end_user, prepared_at) WHERE schedule_expires_at IS NOT NULL;
CREATE INDEX prepared_by_schedule ON prepared_transaction (schedule_id, account_id) WHERE schedule_id IS NOT NULL;
CREATE INDEX prepared_nft_by_nft ON prepared_nft (token, serial_no, transaction_id);
-- Give events the kinds of offers, and the offer that they are about
DROP INDEX event_by_date;
DROP INDEX event_by_nft;
DROP INDEX event_by_token;
DROP INDEX event_by_from_account;
DROP INDEX event_by_to_account;
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
        'OFFER_FAILED')),
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
    sold_at TEXT GENERATED ALWAYS AS (CASE WHEN kind = 'SOLD' AND is_hidden = 0 THEN consensus_at END) VIRTUAL
) STRICT;
INSERT INTO event (
    id, kind, token, serial_no, from_account, to_account, price, previous_price, transaction_id, consensus_at,
    seen_at, is_hidden
)
SELECT
    id, kind, token, serial_no, from_account, to_account, price, previous_price, transaction_id, consensus_at,
    seen_at, is_hidden
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
CREATE INDEX event_by_date ON event ((COALESCE(consensus_at, seen_at)), id);
CREATE INDEX event_by_nft ON event (token, serial_no, id);
CREATE INDEX event_by_token ON event (token, id);
CREATE INDEX event_by_from_account ON event (from_account, id) WHERE from_account IS NOT NULL;
CREATE INDEX event_by_to_account ON event (to_account, id) WHERE to_account IS NOT NULL;
CREATE INDEX event_by_kind ON event (kind, id);
CREATE INDEX event_sold ON event (token, sold_at, price) WHERE sold_at IS NOT NULL;
CREATE INDEX event_sold_at ON event (sold_at, token, price) WHERE sold_at IS NOT NULL;
CREATE INDEX event_of_sale ON event (consensus_at, id) WHERE kind = 'SOLD';
-- Queue offers to be compared with the ledger
DROP INDEX recheck_due;
ALTER TABLE recheck RENAME TO earlier_recheck;
CREATE TABLE recheck (
    kind TEXT NOT NULL CHECK (kind IN ('nft', 'token', 'account', 'seller', 'offer')),
    id TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK ((kind = 'nft') = (serial_no > 0)),
    changed_at TEXT NOT NULL,
    since TEXT NOT NULL,
    due_at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, id, serial_no)
) STRICT;
INSERT INTO recheck (kind, id, serial_no, changed_at, since, due_at, attempts)
SELECT kind, id, serial_no, changed_at, since, due_at, attempts FROM earlier_recheck;
DROP TABLE earlier_recheck;
CREATE INDEX recheck_due ON recheck (kind, due_at);
