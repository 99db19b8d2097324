-- Index the order book by price, and by date and price for each collection
DROP INDEX IF EXISTS nft_by_listing_date;
CREATE INDEX nft_by_listing_date
    ON nft (listed_order DESC, token, serial_no, listing_price) WHERE is_for_sale = 1;
CREATE INDEX nft_in_collection_by_listing_date
    ON nft (token, listed_order DESC, serial_no, listing_price) WHERE is_for_sale = 1;
CREATE INDEX nft_by_price ON nft (listing_price, token, serial_no) WHERE is_for_sale = 1;
CREATE INDEX nft_by_price_descending
    ON nft (listing_price DESC, token, serial_no) WHERE is_for_sale = 1;
CREATE INDEX nft_in_collection_by_price
    ON nft (token, listing_price, serial_no) WHERE is_for_sale = 1;
CREATE INDEX nft_in_collection_by_price_descending
    ON nft (token, listing_price DESC, serial_no) WHERE is_for_sale = 1;

-- Keep prepared transactions of all kinds in one table
CREATE TABLE prepared_transaction (
    transaction_id TEXT PRIMARY KEY, -- 0.0.x@seconds.nanoseconds, nine digits of them
    kind TEXT NOT NULL CHECK (kind IN ('listing', 'withdrawal', 'purchase')),
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    account_id TEXT NOT NULL, -- who is to sign: the owner, or the buyer
    price INTEGER CHECK (price BETWEEN 1 AND 50000000000), -- null of a withdrawal
    memo TEXT NOT NULL,
    wallet TEXT NOT NULL,
    prepared_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    result TEXT, -- the ledger's result code that a report was told, where it did not come about; else null
    seller TEXT,
    caller TEXT, -- name of the access token that asked for it; empty where a host lets callers in
    fee_tinybars INTEGER CHECK (fee_tinybars >= 0), -- what was charged, and the most that may be until that is known
    is_settled INTEGER CHECK (is_settled IN (0, 1)), -- whether it is known
    FOREIGN KEY (token, serial_no) REFERENCES nft (token, serial_no),
    CHECK ((kind = 'withdrawal') = (price IS NULL)),
    CHECK ((kind = 'purchase') = (seller IS NOT NULL)),
    CHECK ((kind = 'purchase') = (caller IS NOT NULL)),
    CHECK ((kind = 'purchase') = (fee_tinybars IS NOT NULL)),
    CHECK ((kind = 'purchase') = (is_settled IS NOT NULL))
) STRICT;

INSERT INTO prepared_transaction (
    transaction_id, kind, token, serial_no, account_id, price, memo, wallet, prepared_at, expires_at, result
)
SELECT
    transaction_id, 'listing', token, serial_no, account_id, listing_price, memo, wallet, prepared_at, expires_at, result
FROM prepared_listing;
DROP TABLE prepared_listing;

-- Index prepared transactions
CREATE INDEX prepared_transaction_by_nft
    ON prepared_transaction (token, serial_no, account_id, prepared_at DESC);
CREATE INDEX prepared_transaction_by_account
    ON prepared_transaction (account_id, expires_at) WHERE is_settled IS NULL;
CREATE INDEX purchase_by_expiry
    ON prepared_transaction (expires_at, fee_tinybars) WHERE is_settled IS NOT NULL;
CREATE INDEX purchase_unsettled ON prepared_transaction (expires_at) WHERE is_settled = 0;

-- Keep what the ledger knows of each collection: the watcher reads it
CREATE TABLE collection (
    token TEXT PRIMARY KEY,
    name TEXT,
    symbol TEXT,
    total_supply INTEGER CHECK (total_supply >= 0),
    treasury TEXT,
    royalties TEXT,
    read_at TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    retry_at TEXT NOT NULL
) STRICT;
CREATE INDEX collection_due ON collection (retry_at, token);
INSERT INTO collection (token, retry_at) SELECT DISTINCT token, '1970-01-01T00:00:00.000000000Z' FROM nft;
