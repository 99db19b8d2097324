-- Let accounts have HBAR
ALTER TABLE account RENAME TO earlier_account;
CREATE TABLE account (
    account_id TEXT PRIMARY KEY,
    key_type TEXT CHECK (key_type IN ('ED25519', 'ECDSA_SECP256K1')),
    public_key TEXT,
    balance INTEGER NOT NULL CHECK (balance >= 0),
    automatic_associations INTEGER NOT NULL CHECK (automatic_associations >= -1),
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO account (account_id, key_type, public_key, balance, automatic_associations, created_at)
SELECT account_id, key_type, public_key, 1000000000000, -1, created_at FROM earlier_account;
DROP TABLE earlier_account;

-- Associate owners with the tokens of their NFTs
CREATE TABLE association (
    account_id TEXT NOT NULL,
    token TEXT NOT NULL,
    is_automatic INTEGER NOT NULL CHECK (is_automatic IN (0, 1)),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, token)
) STRICT;
INSERT INTO association (account_id, token, is_automatic, created_at)
SELECT owner, token, 0, MIN(created_at) FROM nft GROUP BY owner, token;

-- Keep what NFTs are minted with
ALTER TABLE nft ADD COLUMN metadata TEXT;
