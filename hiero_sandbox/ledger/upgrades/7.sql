-- Let transactions create and change tokens, burn and wipe NFTs, freeze accounts and ask for their KYC
CREATE TABLE token (
    token TEXT PRIMARY KEY,
    definition BLOB NOT NULL,
    is_created INTEGER NOT NULL CHECK (is_created IN (0, 1)),
    is_paused INTEGER NOT NULL CHECK (is_paused IN (0, 1)),
    created_at INTEGER NOT NULL,
    modified_at INTEGER NOT NULL
) STRICT;
ALTER TABLE association ADD COLUMN is_frozen INTEGER NOT NULL DEFAULT 0 CHECK (is_frozen IN (0, 1));
ALTER TABLE association ADD COLUMN is_kyc_granted INTEGER NOT NULL DEFAULT 1 CHECK (is_kyc_granted IN (0, 1));
ALTER TABLE transaction_record ADD COLUMN total_supply INTEGER;
