-- The sandbox's own small ledger. Times are nanoseconds since 1970, as consensus timestamps are.
-- versions.py adds the earlier versions of all rows.

-- An account. One that only a host's world has gets a row when it first changes.
CREATE TABLE account (
    account_id TEXT PRIMARY KEY,
    key TEXT, -- HAPI's Key in hexadecimal; null until the account has signed
    balance INTEGER NOT NULL CHECK (balance >= 0), -- tinybars
    automatic_associations INTEGER NOT NULL CHECK (automatic_associations >= -1), -- at most; -1: any number
    memo TEXT NOT NULL,
    is_receiver_signature_required INTEGER NOT NULL CHECK (is_receiver_signature_required IN (0, 1)),
    created_at INTEGER NOT NULL,
    pending_reward INTEGER NOT NULL DEFAULT 0 CHECK (pending_reward >= 0), -- tinybars, earned by staking
    is_deleted INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1)), -- it keeps its id and has no HBAR
    renewal_seconds INTEGER NOT NULL DEFAULT 7776000,
    expires_at INTEGER, -- null: a period of renewal after its creation
    staked_account TEXT, -- it stakes to this account,
    staked_node INTEGER, -- or to this node
    declines_reward INTEGER NOT NULL DEFAULT 0 CHECK (declines_reward IN (0, 1)),
    CHECK (staked_account IS NULL OR staked_node IS NULL)
) STRICT;

-- Another name of an account: its EVM address, or its key as HAPI writes it.
CREATE TABLE alias (
    alias BLOB PRIMARY KEY,
    account_id TEXT NOT NULL
) STRICT;

-- Serves queries.list_aliases.
CREATE INDEX alias_by_account ON alias (account_id);

-- The numbers of accounts and tokens that transactions have created.
CREATE TABLE created (
    number INTEGER PRIMARY KEY
) STRICT;

-- An account that may hold a token. The token's treasury may hold it without a row.
CREATE TABLE association (
    account_id TEXT NOT NULL,
    token TEXT NOT NULL,
    is_automatic INTEGER NOT NULL CHECK (is_automatic IN (0, 1)), -- made by a transfer
    created_at INTEGER NOT NULL,
    is_frozen INTEGER NOT NULL DEFAULT 0 CHECK (is_frozen IN (0, 1)),
    is_kyc_granted INTEGER NOT NULL DEFAULT 1 CHECK (is_kyc_granted IN (0, 1)), -- 1 if the token needs no KYC
    PRIMARY KEY (account_id, token)
) STRICT;

CREATE TABLE nft (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK (serial_no > 0),
    owner TEXT NOT NULL, -- empty if it was burned or wiped
    spender TEXT,
    created_at INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    metadata TEXT, -- base64
    delegating_spender TEXT, -- who approved the spender for the owner
    PRIMARY KEY (token, serial_no)
) STRICT;

-- Serves the lists of an account's NFTs.
CREATE INDEX nft_by_owner ON nft (owner, token, serial_no);

-- An owner lets a spender take all of the owner's NFTs of a token.
CREATE TABLE approval_for_all (
    owner TEXT NOT NULL,
    spender TEXT NOT NULL,
    token TEXT NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (owner, spender, token)
) STRICT;

-- An owner lets a spender take an amount of tinybars, or of a token's units.
CREATE TABLE allowance (
    owner TEXT NOT NULL,
    spender TEXT NOT NULL,
    token TEXT NOT NULL, -- empty: HBAR
    amount INTEGER NOT NULL CHECK (amount >= 0), -- what is left of it
    granted INTEGER NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (owner, spender, token)
) STRICT;

-- An airdrop that its receiver has not claimed yet. Until then, the sender keeps what it is about.
CREATE TABLE airdrop (
    sender TEXT NOT NULL,
    receiver TEXT NOT NULL,
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK (serial_no >= 0), -- 0: units of the token
    amount INTEGER NOT NULL CHECK (amount >= 0), -- of units; 0: an NFT
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sender, receiver, token, serial_no)
) STRICT;

-- A token that a transaction has created or changed. A host's world may have others.
CREATE TABLE token (
    token TEXT PRIMARY KEY,
    definition BLOB NOT NULL, -- HAPI's TokenCreateTransactionBody, with all updates applied
    is_created INTEGER NOT NULL CHECK (is_created IN (0, 1)),
    is_paused INTEGER NOT NULL CHECK (is_paused IN (0, 1)),
    created_at INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    fees_at INTEGER NOT NULL DEFAULT 0 -- when its custom fees were last changed
) STRICT;

-- A token that was deleted, with all of its NFTs. Their rows stay as they were.
CREATE TABLE deleted_token (
    token TEXT PRIMARY KEY,
    deleted_at INTEGER NOT NULL
) STRICT;

-- An account's units of a fungible token. Fixed fees may be paid in them.
CREATE TABLE holding (
    token TEXT NOT NULL,
    account_id TEXT NOT NULL,
    balance INTEGER NOT NULL CHECK (balance >= 0),
    PRIMARY KEY (token, account_id)
) STRICT;

-- A transaction that waits for signatures, or for its time. It is executed once.
CREATE TABLE schedule (
    schedule_id TEXT PRIMARY KEY,
    creation BLOB NOT NULL, -- HAPI's TransactionBody of its ScheduleCreate
    identity BLOB NOT NULL, -- what two schedules may not have in common: the ScheduleCreate, without its payer
    signatories BLOB NOT NULL, -- HAPI's KeyList: the simple keys that have signed, of those that it requires
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, -- in whole seconds
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'executed', 'deleted', 'expired')),
    resolved_at INTEGER -- when it was executed or deleted
) STRICT;

-- Serve queries.get_due_schedule, and the look for an identical schedule.
CREATE INDEX schedule_by_expiry ON schedule (expires_at) WHERE state = 'open';
CREATE INDEX schedule_by_identity ON schedule (identity);

-- A signature of a ScheduleCreate or ScheduleSign, as the mirror node shows it.
CREATE TABLE schedule_signature (
    schedule_id TEXT NOT NULL,
    consensus_at INTEGER NOT NULL,
    pair BLOB NOT NULL, -- HAPI's SignaturePair
    PRIMARY KEY (schedule_id, consensus_at, pair)
) STRICT;

-- Messages in one order.
CREATE TABLE topic (
    topic TEXT PRIMARY KEY,
    definition BLOB NOT NULL, -- HAPI's ConsensusCreateTopicTransactionBody, with all updates applied
    created_at INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    fees_at INTEGER NOT NULL, -- when its custom fees were last changed
    expires_at INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1)),
    sequence_no INTEGER NOT NULL DEFAULT 0, -- of its last message
    running_hash BLOB NOT NULL -- after that message
) STRICT;

CREATE TABLE topic_message (
    topic TEXT NOT NULL,
    sequence_no INTEGER NOT NULL CHECK (sequence_no > 0),
    consensus_at INTEGER NOT NULL UNIQUE,
    payer TEXT NOT NULL,
    submission BLOB NOT NULL, -- HAPI's ConsensusSubmitMessageTransactionBody
    running_hash BLOB NOT NULL,
    PRIMARY KEY (topic, sequence_no)
) STRICT;

-- A file that a transaction has created. Its contents are the parts since a time.
CREATE TABLE file (
    file_id TEXT PRIMARY KEY,
    keys BLOB NOT NULL, -- HAPI's KeyList
    memo TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    contents_since INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL CHECK (is_deleted IN (0, 1))
) STRICT;

CREATE TABLE file_part (
    file_id TEXT NOT NULL,
    consensus_at INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (file_id, consensus_at)
) STRICT;

-- A transaction that reached consensus. Several may share an id: a duplicate that was refused, or one that a
-- transaction has executed by itself.
CREATE TABLE transaction_record (
    consensus_at INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL, -- 0.0.x-seconds-nanoseconds
    hash BLOB NOT NULL,
    body BLOB NOT NULL, -- HAPI's TransactionBody, with the accounts' ids in place of their aliases
    record BLOB NOT NULL -- HAPI's TransactionRecord
) STRICT;

-- Serves queries.list_transactions.
CREATE INDEX transaction_record_by_id ON transaction_record (transaction_id);

-- Serves queries.list_transactions_of_hash.
CREATE INDEX transaction_record_by_hash ON transaction_record (hash);

-- A transaction that changed an NFT, or its approval.
CREATE TABLE nft_transaction (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    consensus_at INTEGER NOT NULL,
    PRIMARY KEY (token, serial_no, consensus_at)
) STRICT;

-- An NFT that its first owner got without a transaction, from a host's world.
CREATE TABLE gift (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    consensus_at INTEGER NOT NULL,
    owner TEXT NOT NULL,
    PRIMARY KEY (token, serial_no)
) STRICT;
