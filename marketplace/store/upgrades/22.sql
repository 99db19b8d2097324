-- Keep the NFTs of prepared transactions in a table of their own: a transaction can have several
DROP INDEX prepared_transaction_by_nft;
DROP INDEX preparation_by_expiry;
DROP INDEX purchase_by_expiry;
DROP INDEX purchase_unsettled;
ALTER TABLE prepared_transaction RENAME TO earlier;
CREATE TABLE prepared_transaction (
    transaction_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('listing', 'withdrawal', 'purchase')),
    account_id TEXT NOT NULL,
    memo TEXT NOT NULL,
    wallet TEXT NOT NULL,
    prepared_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    caller TEXT NOT NULL,
    end_user TEXT NOT NULL,
    fee_tinybars INTEGER CHECK (fee_tinybars >= 0),
    is_settled INTEGER CHECK (is_settled IN (0, 1)),
    is_sold INTEGER CHECK (is_sold IN (0, 1)),
    signed BLOB,
    charged_to TEXT,
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
INSERT INTO prepared_transaction
SELECT
    transaction_id, kind, account_id, memo, wallet, prepared_at, expires_at, caller, end_user,
    fee_tinybars, is_settled, is_sold, signed, charged_to
FROM earlier;
INSERT INTO prepared_nft SELECT transaction_id, token, serial_no, price, seller FROM earlier;
DROP TABLE earlier;
CREATE INDEX preparation_by_expiry
    ON prepared_transaction (expires_at, account_id) WHERE is_settled IS NULL;
CREATE INDEX purchase_by_expiry
    ON prepared_transaction (expires_at, fee_tinybars) WHERE is_settled IS NOT NULL;
CREATE INDEX purchase_unsettled ON prepared_transaction (expires_at) WHERE is_settled = 0;
CREATE INDEX prepared_nft_by_nft ON prepared_nft (token, serial_no, transaction_id);
