-- Let issuers change custom fees, which may be paid in tokens; and accounts be deleted
CREATE TABLE fee_schedule (
    token TEXT PRIMARY KEY,
    document TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;
CREATE TABLE holding (
    token TEXT NOT NULL,
    account_id TEXT NOT NULL,
    balance INTEGER NOT NULL CHECK (balance >= 0),
    PRIMARY KEY (token, account_id)
) STRICT;
ALTER TABLE account ADD COLUMN deleted_at INTEGER;
