-- Let transactions create and update accounts, with keys of all kinds, memos and aliases
ALTER TABLE account RENAME TO old_account;
CREATE TABLE account (
    account_id TEXT PRIMARY KEY,
    key TEXT,
    balance INTEGER NOT NULL CHECK (balance >= 0),
    automatic_associations INTEGER NOT NULL CHECK (automatic_associations >= -1),
    memo TEXT NOT NULL,
    is_receiver_signature_required INTEGER NOT NULL CHECK (is_receiver_signature_required IN (0, 1)),
    created_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
INSERT INTO account
SELECT account_id, CASE key_type WHEN 'ED25519' THEN '1220' ELSE '3a21' END || public_key,
    balance, automatic_associations, '', 0, created_at, deleted_at
FROM old_account;
DROP TABLE old_account;
CREATE TABLE alias (
    alias BLOB PRIMARY KEY,
    account_id TEXT NOT NULL
) STRICT;
CREATE INDEX alias_by_account ON alias (account_id);
CREATE TABLE created (
    number INTEGER PRIMARY KEY
) STRICT;
