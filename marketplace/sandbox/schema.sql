-- The sandbox's own small ledger. Moments are nanoseconds since 1970, as consensus time is.

CREATE TABLE account (
    account_id TEXT PRIMARY KEY,
    key_type TEXT NOT NULL CHECK (key_type IN ('ED25519', 'ECDSA_SECP256K1')),
    public_key TEXT NOT NULL, -- hexadecimal; the first key that signed for the account
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE nft (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK (serial_no > 0),
    owner TEXT NOT NULL,
    spender TEXT,
    created_at INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    PRIMARY KEY (token, serial_no)
) STRICT;

-- Serves queries.list_nfts_of.
CREATE INDEX nft_by_owner ON nft (owner, token, serial_no);

-- One owner lets one spender have all of a token.
CREATE TABLE approval_for_all (
    owner TEXT NOT NULL,
    spender TEXT NOT NULL,
    token TEXT NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (owner, spender, token)
) STRICT;

-- A token that was deleted, with all of its NFTs. Their rows stay as they were.
CREATE TABLE deleted_token (
    token TEXT PRIMARY KEY,
    deleted_at INTEGER NOT NULL
) STRICT;

-- Of which NFTs the mirror node answers in a way that is rare, and real.
CREATE TABLE oddity (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('PARTIAL_HISTORY', 'METADATA_NULL', 'IMPOSSIBLE_ID')),
    PRIMARY KEY (token, serial_no, kind)
) STRICT;

-- One transaction that reached consensus, as the mirror node shows it. Several may share an id: a repetition that
-- was refused, or what a schedule executed.
CREATE TABLE transaction_record (
    consensus_at INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL, -- 0.0.x-seconds-nanoseconds
    document TEXT NOT NULL -- JSON
) STRICT;

-- Serves queries.list_transactions.
CREATE INDEX transaction_record_by_id ON transaction_record (transaction_id);

-- What happened to one NFT, as the mirror node shows it.
CREATE TABLE nft_transaction (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    consensus_at INTEGER NOT NULL,
    document TEXT NOT NULL, -- JSON
    PRIMARY KEY (token, serial_no, consensus_at)
) STRICT;

-- What holds for the whole database: the version of its schema.
CREATE TABLE property (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
