-- Every table, and the rules the data obeys: what a new database is made of. An older one comes to the same by the
-- steps of upgrades/, and a change of this file is such a step as well.
-- Dates are text that sorts: 2026-11-20T12:34:56.789012345Z. Prices are whole HBAR.

-- One NFT, as the ledger and its metadata showed it last.
CREATE TABLE nft (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK (serial_no > 0),
    name TEXT NOT NULL,
    file_type TEXT NOT NULL,
    attributes TEXT, -- JSON text of [{"trait_type", "value"}, ...], null when there are none
    image TEXT, -- key of the optimised image in the media store, null while it could not be had
    original_image_url TEXT, -- of the sandbox the path alone, which PUBLIC_URL is put before
    owner TEXT NOT NULL,
    is_for_sale INTEGER NOT NULL DEFAULT 0 CHECK (is_for_sale IN (0, 1)),
    listing_price INTEGER NOT NULL DEFAULT 0 CHECK (listing_price BETWEEN 0 AND 50000000000),
    last_listed_at TEXT, -- consensus timestamp of the listing, null when not known
    -- The ledger's own date of the state seen here: an older one never wins. Without its Z, so that it sorts just
    -- below, where not all facts of that moment were seen; 1970-01-01T00:00:00.000000000Z where nothing could be
    -- decided; in the year 9999 once it was burned or its token was deleted: nothing follows.
    ledger_at TEXT NOT NULL,
    metadata TEXT, -- the ledger's metadata pointer, decoded; kept even when it leads nowhere
    missing TEXT, -- why metadata or image could not be had, null when both are here
    attempts INTEGER NOT NULL DEFAULT 0, -- how often they were tried for
    retry_at TEXT, -- when to try again, null when there is nothing to try for
    listed_order TEXT NOT NULL GENERATED ALWAYS AS (COALESCE(last_listed_at, '')) VIRTUAL, -- unknown dates last
    PRIMARY KEY (token, serial_no),
    CHECK (is_for_sale = 0 OR listing_price > 0),
    CHECK (is_for_sale = 1 OR listing_price = 0)
) STRICT;

-- Serves orderbook.list_selected, newest first, with its prices.
CREATE INDEX nft_by_listing_date
    ON nft (listed_order DESC, token, serial_no, listing_price) WHERE is_for_sale = 1;

-- Serves orderbook.list_selected in a collection, newest first.
CREATE INDEX nft_in_collection_by_listing_date
    ON nft (token, listed_order DESC, serial_no, listing_price) WHERE is_for_sale = 1;

-- Serves orderbook.list_selected, cheapest first.
CREATE INDEX nft_by_price ON nft (listing_price, token, serial_no) WHERE is_for_sale = 1;

-- Serves orderbook.list_selected, dearest first.
CREATE INDEX nft_by_price_descending
    ON nft (listing_price DESC, token, serial_no) WHERE is_for_sale = 1;

-- Serves orderbook.list_selected in a collection, cheapest first; and nft_collections.get_collection_on_sale.
CREATE INDEX nft_in_collection_by_price
    ON nft (token, listing_price, serial_no) WHERE is_for_sale = 1;

-- Serves orderbook.list_selected in a collection, dearest first.
CREATE INDEX nft_in_collection_by_price_descending
    ON nft (token, listing_price DESC, serial_no) WHERE is_for_sale = 1;

-- Serves orderbook.list_selected of an owner, newest first.
CREATE INDEX nft_by_owner_and_listing_date
    ON nft (owner, listed_order DESC, token, serial_no) WHERE is_for_sale = 1;

-- Serves orderbook.list_listed_in_collection_after, and traits.list_trait_values with its prices.
CREATE INDEX nft_listed_in_collection
    ON nft (token, serial_no, listing_price) WHERE is_for_sale = 1;

-- Serves prepared_transactions.list_sellers and nfts.list_known_of_seller.
CREATE INDEX nft_undecided ON nft (owner) WHERE ledger_at = '1970-01-01T00:00:00.000000000Z';

-- Serves nfts.list_nfts_of_owner.
CREATE INDEX nft_by_owner ON nft (owner, token, serial_no) WHERE ledger_at < '9999';

-- Serves nfts.list_collections_incomplete and list_incomplete.
CREATE INDEX nft_incomplete ON nft (token, retry_at) WHERE retry_at IS NOT NULL;

-- One collection of which an NFT is stored, as the ledger showed it last: what is not known is null. Royalties are
-- fractions of a price; a fallback fee or a fixed one is of the smallest units of a token, or of tinybars where it is null.
CREATE TABLE collection (
    token TEXT PRIMARY KEY,
    name TEXT,
    symbol TEXT,
    total_supply INTEGER CHECK (total_supply >= 0),
    treasury TEXT,
    royalties TEXT, -- JSON text of [{"collector", "numerator", "denominator", "fallback": {"amount", "token"} or null}, ...]
    read_at TEXT, -- when the ledger was asked what is here; null before it has told anything
    attempts INTEGER NOT NULL DEFAULT 0, -- how often it did not tell, since it last did
    retry_at TEXT NOT NULL, -- when to ask it again
    fixed_fees TEXT, -- JSON text of [{"collector", "amount", "token"}, ...]
    -- Of the sales through this marketplace that were seen since events are kept, in HBAR
    sales INTEGER NOT NULL DEFAULT 0,
    volume INTEGER NOT NULL DEFAULT 0,
    last_sale_price INTEGER,
    last_sale_at TEXT,
    listed INTEGER NOT NULL DEFAULT 0 CHECK (listed >= 0), -- how many of its NFTs are for sale
    sort_name TEXT NOT NULL DEFAULT '', -- its name without case and accents; empty while not known
    traits_version INTEGER NOT NULL DEFAULT 0, -- another one after each change of its NFTs' traits
    -- The last number of its id, which grows on the ledger
    number INTEGER NOT NULL
        GENERATED ALWAYS AS (CAST(SUBSTR(token, LENGTH(RTRIM(token, '0123456789')) + 1) AS INTEGER)) VIRTUAL
) STRICT;

-- Serves nft_collections.list_collections_due.
CREATE INDEX collection_due ON collection (retry_at, token);

-- These serve collection_search.list_found_collections, each an order.
CREATE INDEX collection_by_volume ON collection ((-volume), token);
CREATE INDEX collection_by_listed ON collection ((-listed), token);
CREATE INDEX collection_by_name ON collection (sort_name, token);
CREATE INDEX collection_by_number ON collection ((-number), token);

-- The words by which a collection is found: of its name and its symbol, and its id.
CREATE TABLE collection_word (
    word TEXT NOT NULL, -- without case and accents
    token TEXT NOT NULL,
    PRIMARY KEY (word, token)
) STRICT;

-- Serves collection_search.delete_words, and asks each collection of an order for a common word.
CREATE INDEX collection_word_by_token ON collection_word (token, word);

-- The traits of NFTs that are not burned, as far as they are short: they follow from nft.attributes.
CREATE TABLE nft_trait (
    token TEXT NOT NULL,
    type TEXT NOT NULL,
    value TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    PRIMARY KEY (token, type, value, serial_no)
) STRICT, WITHOUT ROWID;

-- What happened to NFTs, in the order in which it became visible here: each id is one more than the last, and is
-- given in the transaction that makes the change, after which no earlier one can become visible. The newest row is
-- never deleted.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('ADDED', 'LISTED', 'PRICE_CHANGED', 'WITHDRAWN', 'SOLD', 'TRANSFERRED',
        'BURNED', 'METADATA_CHANGED')),
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    from_account TEXT, -- the owner before; of a listing the seller
    to_account TEXT, -- the owner after
    price INTEGER, -- HBAR; of a sale what the buyer paid
    previous_price INTEGER, -- of the listing that it ends or replaces
    transaction_id TEXT, -- 0.0.x@seconds.nanoseconds; null where the ledger was not asked for it, or has none
    consensus_at TEXT, -- null where it is not an event of the ledger, or its moment is not known
    seen_at TEXT NOT NULL, -- when it was written here
    body TEXT NOT NULL -- the event as JSON, from behind its id on, as every reader is given it
) STRICT;

-- Serves events.get_page of an NFT.
CREATE INDEX event_by_nft ON event (token, serial_no, id);

-- Serves events.get_page of a collection.
CREATE INDEX event_by_token ON event (token, id);

-- Serves events.get_page of an account.
CREATE INDEX event_by_from_account ON event (from_account, id) WHERE from_account IS NOT NULL;

-- Serves events.get_page of an account.
CREATE INDEX event_by_to_account ON event (to_account, id) WHERE to_account IS NOT NULL;

-- Serves events.get_page of some kinds.
CREATE INDEX event_by_kind ON event (kind, id);

-- Serves events.get_sales_since. These two begin with the kind, or SQLite would prefer event_by_kind.
CREATE INDEX event_sold ON event (kind, token, consensus_at, price) WHERE kind = 'SOLD';

-- Serves collection_search.list_found_collections, by what was sold; and collection_search.get_first_sale_since.
CREATE INDEX event_sold_at ON event (kind, consensus_at, token, price) WHERE kind = 'SOLD';

-- One address that events are delivered to, and how far. Its secret is not here: it is made of the salt, by a key in the
-- file webhook.key.
CREATE TABLE webhook (
    id TEXT PRIMARY KEY, -- the beginning of the SHA-256 of its secret, hexadecimal
    url TEXT NOT NULL,
    kinds TEXT NOT NULL, -- of the events that are delivered, separated by spaces; empty: all
    is_private INTEGER NOT NULL CHECK (is_private IN (0, 1)), -- whether it may be an address of a private network
    salt TEXT NOT NULL, -- random, hexadecimal
    delivered_to INTEGER NOT NULL, -- the id of the event up to which there is nothing left to deliver
    failure TEXT, -- of the last attempt; null where that delivered something, or there was none
    failed_since TEXT, -- the first failure since then
    due_at TEXT -- after a failure, when to try again; null: it is given up
) STRICT;

-- One transaction handed out to be signed. It says where to look, and what to answer to a report, and decides nothing
-- of an NFT; of a purchase, for which the marketplace pays, it also says what that costs.
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

-- Serves prepared_transactions.get_newest_prepared, get_open_purchase and
-- delete_prepared_transactions_beyond.
CREATE INDEX prepared_transaction_by_nft
    ON prepared_transaction (token, serial_no, account_id, prepared_at DESC);

-- Serves prepared_transactions.list_sellers, count_open and delete_expired.
CREATE INDEX preparation_by_expiry
    ON prepared_transaction (expires_at, account_id) WHERE is_settled IS NULL;

-- Serves prepared_transactions.get_held and delete_expired.
CREATE INDEX purchase_by_expiry
    ON prepared_transaction (expires_at, fee_tinybars) WHERE is_settled IS NOT NULL;

-- Serves prepared_transactions.count_open, get_first_unsettled and mark_never_submitted.
CREATE INDEX purchase_unsettled ON prepared_transaction (expires_at) WHERE is_settled = 0;

-- How far the ledger's transactions were followed: one row, and none before the first watcher's start.
CREATE TABLE follow (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    began_at TEXT NOT NULL, -- where following began: what came before is swept
    cursor_at TEXT NOT NULL, -- consensus timestamp up to which every transaction was seen
    fresh_at TEXT NOT NULL, -- the mirror node's present when all that it shows had been seen last
    heartbeat_at TEXT NOT NULL, -- when a watcher wrote this last, by its own clock
    backfilled_to TEXT, -- the approvals of before began_at were read up to there; null: all that concern us
    sweep_began_at TEXT -- of the sweep that is under way; null while there is none
) STRICT;

-- The queue of rechecks: a transaction may have changed this NFT, those of this token, or this account's listings.
CREATE TABLE recheck (
    kind TEXT NOT NULL CHECK (kind IN ('nft', 'token', 'account')),
    id TEXT NOT NULL, -- of a token, or of an account
    serial_no INTEGER NOT NULL CHECK ((kind = 'nft') = (serial_no > 0)), -- 0 of a token or an account
    changed_at TEXT NOT NULL, -- consensus timestamp of the newest such transaction
    stale_ok_at TEXT, -- from then on facts older than changed_at are accepted; null: never
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at TEXT NOT NULL,
    is_swept INTEGER NOT NULL DEFAULT 0 CHECK (is_swept IN (0, 1)), -- whether a sweep waits for it
    PRIMARY KEY (kind, id, serial_no)
) STRICT;

-- Serves following.list_rechecks_due.
CREATE INDEX recheck_due ON recheck (kind, due_at);

-- What holds for the whole database: the network and the account it is of, and the version of its schema.
CREATE TABLE property (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- When a job of the operator's was last done to the end.
CREATE TABLE job (
    name TEXT PRIMARY KEY,
    finished_at TEXT NOT NULL
) STRICT;

-- One access token: only its hash is here.
CREATE TABLE access_token (
    hash TEXT PRIMARY KEY, -- SHA-256 of the token, hexadecimal
    name TEXT NOT NULL,
    scopes TEXT NOT NULL, -- separated by spaces, as in RFC 6749
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    rate TEXT, -- how often it may be used, such as 600/m; null where the settings say it
    last_used_at TEXT -- to the hour; null when never
) STRICT;

-- A name belongs to one living token at most.
CREATE UNIQUE INDEX access_token_name ON access_token (name) WHERE revoked_at IS NULL;
