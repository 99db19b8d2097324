-- Keep the fixed custom fees of each collection: the watcher reads them
ALTER TABLE collection ADD COLUMN fixed_fees TEXT;
UPDATE collection SET retry_at = '1970-01-01T00:00:00.000000000Z';

-- Note who asked for each prepared transaction, whether a purchase succeeded, and what was handed out for it
ALTER TABLE prepared_transaction RENAME TO earlier;
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
    caller TEXT NOT NULL, -- name of the access token that asked for it; empty where a host lets callers in
    end_user TEXT NOT NULL, -- the name or the address of the end user who asked for it; empty where unknown
    -- Of a purchase; null of others
    seller TEXT,
    fee_tinybars INTEGER CHECK (fee_tinybars >= 0), -- what was charged, and the most that may be until that is known
    is_settled INTEGER CHECK (is_settled IN (0, 1)), -- whether it is known
    is_sold INTEGER CHECK (is_sold IN (0, 1)), -- whether it succeeded; null until it is settled
    signed BLOB, -- the transaction as it was handed out, to be handed out again; null once it is settled
    FOREIGN KEY (token, serial_no) REFERENCES nft (token, serial_no),
    CHECK ((kind = 'withdrawal') = (price IS NULL)),
    CHECK ((kind = 'purchase') = (seller IS NOT NULL)),
    CHECK ((kind = 'purchase') = (fee_tinybars IS NOT NULL)),
    CHECK ((kind = 'purchase') = (is_settled IS NOT NULL))
) STRICT;
INSERT INTO prepared_transaction (
    transaction_id, kind, token, serial_no, account_id, price, memo, wallet, prepared_at, expires_at, caller,
    end_user, seller, fee_tinybars, is_settled, is_sold
)
SELECT
    transaction_id, kind, token, serial_no, account_id, price, memo, wallet, prepared_at, expires_at,
    COALESCE(caller, ''), '', seller, fee_tinybars, is_settled, NULLIF(is_settled, 0)
FROM earlier;
DROP TABLE earlier;

-- Index prepared transactions
CREATE INDEX prepared_transaction_by_nft
    ON prepared_transaction (token, serial_no, account_id, prepared_at DESC);
CREATE INDEX preparation_by_expiry
    ON prepared_transaction (expires_at, account_id) WHERE is_settled IS NULL;
CREATE INDEX purchase_by_expiry
    ON prepared_transaction (expires_at, fee_tinybars) WHERE is_settled IS NOT NULL;
CREATE INDEX purchase_unsettled ON prepared_transaction (expires_at) WHERE is_settled = 0;

-- Follow the ledger: how far it was read, and what is to be looked at
CREATE TABLE follow (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    began_at TEXT NOT NULL,
    cursor_at TEXT NOT NULL,
    fresh_at TEXT NOT NULL,
    heartbeat_at TEXT NOT NULL,
    backfilled_to TEXT,
    sweep_began_at TEXT,
    swept_to TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE recheck (
    kind TEXT NOT NULL CHECK (kind IN ('nft', 'token', 'account')),
    id TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK ((kind = 'nft') = (serial_no > 0)),
    changed_at TEXT NOT NULL,
    stale_ok_at TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at TEXT NOT NULL,
    PRIMARY KEY (kind, id, serial_no)
) STRICT;
CREATE INDEX recheck_due ON recheck (kind, due_at);
