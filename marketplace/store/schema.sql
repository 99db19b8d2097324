-- Every table, and the rules of its data: the SQL of a new database. The steps in upgrades/ bring an older database
-- to the same schema, so each change of this file needs such a step.
-- Dates are text that sorts: 2026-11-20T12:34:56.789012345Z. Prices are whole HBAR.

-- One NFT, as the ledger and its metadata showed it last.
CREATE TABLE nft (
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK (serial_no > 0),
    name TEXT NOT NULL,
    file_type TEXT NOT NULL,
    attributes TEXT, -- JSON text of [{"trait_type", "value"}, ...], null when there are none
    image TEXT, -- key of the optimised image in the media store, null while it could not be fetched
    original_image_url TEXT, -- in the sandbox only the path, to follow PUBLIC_URL
    owner TEXT NOT NULL,
    is_for_sale INTEGER NOT NULL DEFAULT 0 CHECK (is_for_sale IN (0, 1)),
    listing_price INTEGER NOT NULL DEFAULT 0 CHECK (listing_price BETWEEN 0 AND 50000000000),
    last_listed_at TEXT, -- consensus timestamp of the listing, null when not known
    ledger_at TEXT NOT NULL, -- the consensus time of the state in this row: an older state never wins
    metadata TEXT, -- the ledger's metadata pointer, decoded; kept even when it leads nowhere
    missing TEXT, -- why metadata or image could not be fetched, null when both are stored
    attempts INTEGER NOT NULL DEFAULT 0, -- failed attempts to fetch them
    retry_at TEXT, -- when to try again, null when nothing is to be fetched
    listed_order TEXT NOT NULL GENERATED ALWAYS AS (COALESCE(last_listed_at, '')) VIRTUAL, -- sorts unknown dates last
    unranked TEXT, -- JSON text of the types of its traits that weigh nothing in a rank; null if there are none
    asked_at TEXT, -- when somebody last asked to have its metadata read again
    read_at TEXT, -- when its metadata was last read, or failed to be
    reread_at TEXT, -- when to read complete metadata again, or metadata that was given up; null: when somebody asks
    -- What is known of the NFT at ledger_at. row_only: its row on the ledger was enough; its history and its last
    -- transaction were not read. undecided: they contradicted each other. gone: it was burned, or its token was deleted,
    -- which no state follows.
    ledger_state TEXT NOT NULL DEFAULT 'decided' CHECK (ledger_state IN ('decided', 'row_only', 'undecided', 'gone')),
    -- What follows from the table decision: whether it is hidden, and whether it is for sale here, as is_for_sale says,
    -- because it is not hidden, and its owner is not blocked
    is_hidden INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1)),
    is_listed INTEGER NOT NULL DEFAULT 0 CHECK (is_listed IN (0, 1) AND is_listed <= is_for_sale),
    PRIMARY KEY (token, serial_no),
    CHECK (is_for_sale = 0 OR listing_price > 0),
    CHECK (is_for_sale = 1 OR listing_price = 0)
) STRICT;

-- Serves orderbook.list_selected, newest first, with its prices.
CREATE INDEX nft_by_listing_date
    ON nft (listed_order DESC, token, serial_no, listing_price) WHERE is_listed = 1;

-- Serves orderbook.list_selected in a collection, newest first.
CREATE INDEX nft_in_collection_by_listing_date
    ON nft (token, listed_order DESC, serial_no, listing_price) WHERE is_listed = 1;

-- Serves orderbook.list_selected, cheapest first.
CREATE INDEX nft_by_price ON nft (listing_price, token, serial_no) WHERE is_listed = 1;

-- Serves orderbook.list_selected, most expensive first.
CREATE INDEX nft_by_price_descending
    ON nft (listing_price DESC, token, serial_no) WHERE is_listed = 1;

-- Serves orderbook.list_selected in a collection, cheapest first; and nft_collections.get_collection_on_sale.
CREATE INDEX nft_in_collection_by_price
    ON nft (token, listing_price, serial_no) WHERE is_listed = 1;

-- Serves orderbook.list_selected in a collection, most expensive first.
CREATE INDEX nft_in_collection_by_price_descending
    ON nft (token, listing_price DESC, serial_no) WHERE is_listed = 1;

-- Serves orderbook.list_selected of an owner, newest first.
CREATE INDEX nft_by_owner_and_listing_date
    ON nft (owner, listed_order DESC, token, serial_no) WHERE is_listed = 1;

-- Serves orderbook.list_selected of an owner, cheapest first.
CREATE INDEX nft_by_owner_and_price
    ON nft (owner, listing_price, token, serial_no) WHERE is_listed = 1;

-- Serves orderbook.list_selected of an owner, most expensive first.
CREATE INDEX nft_by_owner_and_price_descending
    ON nft (owner, listing_price DESC, token, serial_no) WHERE is_listed = 1;

-- Serves orderbook.list_listed_in_collection_after, and traits.list_trait_values with its prices.
CREATE INDEX nft_listed_in_collection
    ON nft (token, serial_no, listing_price) WHERE is_listed = 1;

-- Serves traits.list_trait_values and list_traits.
CREATE INDEX nft_hidden ON nft (token, serial_no) WHERE is_hidden = 1;

-- Serves prepared_transactions.list_sellers, nfts.list_known_of_seller and count_for_sale_of_owner.
CREATE INDEX nft_withheld ON nft (owner) WHERE is_for_sale = 1 AND is_listed = 0;

-- Serves prepared_transactions.list_sellers and nfts.list_known_of_seller.
CREATE INDEX nft_undecided ON nft (owner) WHERE ledger_state = 'undecided';

-- Serves nfts.list_nfts_of_owner and accounts.list_account_collections.
CREATE INDEX nft_by_owner ON nft (owner, token, serial_no) WHERE ledger_state <> 'gone';

-- Serves nft_collections.get_collection_on_sale and list_owners.
CREATE INDEX nft_in_collection_by_owner
    ON nft (token, owner) WHERE ledger_state <> 'gone' AND is_hidden = 0;

-- Serves nfts.list_collections_incomplete and list_incomplete.
CREATE INDEX nft_incomplete ON nft (token, retry_at) WHERE retry_at IS NOT NULL;

-- Serves nfts.list_to_reread.
CREATE INDEX nft_to_reread ON nft (reread_at) WHERE reread_at IS NOT NULL;

-- Serves traits.list_unranked.
CREATE INDEX nft_unranked ON nft (token, serial_no) WHERE unranked IS NOT NULL;

-- One collection with a stored NFT, as the ledger showed it last; unknown facts are null. Royalties are fractions of a
-- price. A fallback fee or a fixed fee is in the smallest units of its token, or in tinybars if the token is null.
CREATE TABLE collection (
    token TEXT PRIMARY KEY,
    name TEXT,
    symbol TEXT,
    total_supply INTEGER CHECK (total_supply >= 0),
    treasury TEXT,
    royalties TEXT, -- JSON text of [{"collector", "numerator", "denominator", "fallback": {"amount", "token"} or null}, ...]
    read_at TEXT, -- when these facts were read from the ledger; null before the first time
    attempts INTEGER NOT NULL DEFAULT 0, -- failed attempts since the last success
    retry_at TEXT NOT NULL, -- when to read them again
    fixed_fees TEXT, -- JSON text of [{"collector", "amount", "token"}, ...]
    -- The sales through this marketplace since it records events: their number, sum in HBAR, and the last one
    sales INTEGER NOT NULL DEFAULT 0,
    volume INTEGER NOT NULL DEFAULT 0,
    last_sale_price INTEGER,
    last_sale_at TEXT,
    listed INTEGER NOT NULL DEFAULT 0 CHECK (listed >= 0), -- how many of its NFTs are listed here
    sort_name TEXT NOT NULL DEFAULT '', -- its name without case and accents; empty while not known; U+10FFFF before an imitation's
    traits_version INTEGER NOT NULL DEFAULT 0, -- grows with each change of its NFTs' traits, listings or prices
    -- The last number of its id: newer tokens have higher ones
    number INTEGER NOT NULL
        GENERATED ALWAYS AS (CAST(SUBSTR(token, LENGTH(RTRIM(token, '0123456789')) + 1) AS INTEGER)) VIRTUAL,
    metadata TEXT, -- the pointer to the document in which it describes itself (HIP-765, HIP-766)
    -- What that document said when it was last read
    description TEXT,
    banner TEXT, -- key of an optimised image in the media store
    logo TEXT, -- likewise
    links TEXT, -- JSON text of [{"label", "url"}, ...]
    describe_at TEXT, -- when to read the document, null: not again
    describe_attempts INTEGER NOT NULL DEFAULT 0, -- failed attempts to read it
    -- What follows from the table decision
    is_hidden INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1)),
    is_verified INTEGER NOT NULL DEFAULT 0 CHECK (is_verified IN (0, 1)),
    is_imitation INTEGER NOT NULL DEFAULT 0 CHECK (is_imitation IN (0, 1)), -- of a verified one's name
    ranked_version INTEGER NOT NULL DEFAULT 0, -- the traits_version of which the watcher has written the ranking
    -- Whether its issuer has a key to change its fees; null before it is read
    can_change_fees INTEGER CHECK (can_change_fees IN (0, 1)),
    -- What the watcher counted: of collection_hour, of its NFTs' owners, and of its listings
    sales_7d INTEGER NOT NULL DEFAULT 0,
    volume_7d INTEGER NOT NULL DEFAULT 0,
    sales_30d INTEGER NOT NULL DEFAULT 0,
    volume_30d INTEGER NOT NULL DEFAULT 0,
    owners INTEGER NOT NULL DEFAULT 0,
    floor_price INTEGER NOT NULL DEFAULT 0, -- 0 if nothing is listed
    floor_price_24h_ago INTEGER NOT NULL DEFAULT 0, -- likewise; also 0 if it is not known
    figures_due_at TEXT DEFAULT '1970-01-01T00:00:00.000000000Z' -- when to count them again; null: after its next event
) STRICT;

-- Serves traits.list_to_rank.
CREATE INDEX collection_to_rank ON collection (token) WHERE traits_version > ranked_version;

-- Serves collection_search.list_found_collections, by what was sold.
CREATE INDEX collection_imitating ON collection (token) WHERE is_imitation = 1;

-- Serves nft_collections.list_collections_to_describe.
CREATE INDEX collection_to_describe ON collection (describe_at) WHERE describe_at IS NOT NULL;

-- Serves nft_collections.list_collections_due.
CREATE INDEX collection_due ON collection (retry_at, token);

-- These serve collection_search.list_found_collections, one for each order. Imitations are at the end of
-- each.
CREATE INDEX collection_by_volume ON collection ((is_imitation * 1000000000000000000 - volume), token);
CREATE INDEX collection_by_listed ON collection ((is_imitation * 1000000000000000000 - listed), token);
CREATE INDEX collection_by_name ON collection (sort_name, token);
CREATE INDEX collection_by_number ON collection ((is_imitation * 1000000000000000000 - number), token);
CREATE INDEX collection_by_sales_7d ON collection ((is_imitation * 1000000000000000000 - sales_7d), token);
CREATE INDEX collection_by_volume_7d ON collection ((is_imitation * 1000000000000000000 - volume_7d), token);
CREATE INDEX collection_by_sales_30d ON collection ((is_imitation * 1000000000000000000 - sales_30d), token);
CREATE INDEX collection_by_volume_30d ON collection ((is_imitation * 1000000000000000000 - volume_30d), token);
CREATE INDEX collection_by_owners ON collection ((is_imitation * 1000000000000000000 - owners), token);
CREATE INDEX collection_by_floor ON collection ((is_imitation * 1000000000000000000 - floor_price), token);
CREATE INDEX collection_by_floor_24h_ago
    ON collection ((is_imitation * 1000000000000000000 - floor_price_24h_ago), token);

-- Serves collection_hours.list_figures_due.
CREATE INDEX collection_figures_due ON collection (figures_due_at) WHERE figures_due_at IS NOT NULL;

-- One hour of a collection in which something changed what was for sale; written soon after the events, by the watcher.
CREATE TABLE collection_hour (
    token TEXT NOT NULL,
    hour TEXT NOT NULL, -- of UTC: 2026-11-20T12
    sales INTEGER NOT NULL,
    volume INTEGER NOT NULL,
    lowest_price INTEGER, -- of its sales
    highest_price INTEGER,
    floor_price INTEGER, -- at its end; null if nothing was for sale
    PRIMARY KEY (token, hour)
) STRICT, WITHOUT ROWID;

-- The words by which a collection is found: those of its name and its symbol, and its id.
CREATE TABLE collection_word (
    word TEXT NOT NULL, -- without case and accents
    token TEXT NOT NULL,
    PRIMARY KEY (word, token)
) STRICT;

-- Serves collection_search.delete_words.
CREATE INDEX collection_word_by_token ON collection_word (token, word);

-- The skeletons of collections' names: names that share one look alike.
CREATE TABLE collection_skeleton (
    skeleton TEXT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (skeleton, token)
) STRICT;

-- Serves nft_collections.mark_imitations and list_skeletons.
CREATE INDEX collection_skeleton_by_token ON collection_skeleton (token, skeleton);

-- The traits of NFTs that are not burned, within the bounds of store/traits.py. They are made from nft.attributes.
CREATE TABLE nft_trait (
    token TEXT NOT NULL,
    type TEXT NOT NULL,
    value TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    PRIMARY KEY (token, type, value, serial_no)
) STRICT, WITHOUT ROWID;

-- What the watcher has counted of a collection's traits, at most once in a while. Requests read this.
CREATE TABLE ranking (
    token TEXT PRIMARY KEY,
    version INTEGER NOT NULL, -- collection.traits_version of that moment
    trait_values TEXT NOT NULL, -- JSON text of what traits.list_trait_values found
    ranks TEXT NOT NULL -- JSON text of market/rarity.py's Ranking
) STRICT;

-- What happened to NFTs, in the order in which it became visible here. Each id is the last id + 1, and is given in
-- the transaction that makes the change. After this transaction no lower id can become visible. The newest row is never
-- deleted.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('ADDED', 'LISTED', 'PRICE_CHANGED', 'WITHDRAWN', 'SOLD', 'TRANSFERRED',
        'BURNED', 'METADATA_CHANGED', 'HIDDEN', 'SHOWN', 'OFFERED', 'OFFER_WITHDRAWN', 'OFFER_EXPIRED',
        'OFFER_FAILED', 'OFFER_NOT_EXECUTED')),
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    from_account TEXT, -- the owner before; for a listing, the seller; for an offer, the owner
    to_account TEXT, -- the owner after; for an offer, the bidder
    price INTEGER, -- HBAR; for a sale, what the buyer paid
    previous_price INTEGER, -- HBAR; of the listing that this event ends or replaces
    transaction_id TEXT, -- 0.0.x@seconds.nanoseconds; null if the ledger was not asked for it, or has none
    consensus_at TEXT, -- null if it is not an event of the ledger, or its time is not known
    seen_at TEXT NOT NULL, -- when it was written here
    is_hidden INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1)), -- whether its NFT is hidden
    offer_id TEXT, -- the schedule of an offer, or of the offer that a sale accepted
    received INTEGER, -- tinybars that the seller kept of a sale, after all fees; null if not known
    -- Of a sale
    sold_at TEXT GENERATED ALWAYS AS (CASE WHEN kind = 'SOLD' AND is_hidden = 0 THEN consensus_at END) VIRTUAL
) STRICT;

-- Serves events.list_page of an NFT.
CREATE INDEX event_by_nft ON event (token, serial_no, id);

-- Serves events.list_page of a collection.
CREATE INDEX event_by_token ON event (token, id);

-- Serves events.list_page of an account.
CREATE INDEX event_by_from_account ON event (from_account, id) WHERE from_account IS NOT NULL;

-- Serves events.list_page of an account.
CREATE INDEX event_by_to_account ON event (to_account, id) WHERE to_account IS NOT NULL;

-- Serves events.list_page between two dates.
CREATE INDEX event_by_date ON event ((COALESCE(consensus_at, seen_at)), id);

-- Serves events.list_page of some kinds.
CREATE INDEX event_by_kind ON event (kind, id);

-- Serves events.get_sales_since, and the volumes of collection_search.list_found_collections.
CREATE INDEX event_sold ON event (token, sold_at, price) WHERE sold_at IS NOT NULL;

-- Serves collection_search.list_found_collections, by what was sold; and collection_search.get_first_sale_since.
CREATE INDEX event_sold_at ON event (sold_at, token, price) WHERE sold_at IS NOT NULL;

-- These serve accounts.list_account_collections and get_volume_of_seller.
CREATE INDEX event_sold_by ON event (from_account, token, price) WHERE kind = 'SOLD' AND is_hidden = 0;
CREATE INDEX event_bought_by ON event (to_account, token, price) WHERE kind = 'SOLD' AND is_hidden = 0;

-- For all sales in their order, also those of hidden NFTs: flask export sales.
CREATE INDEX event_of_sale ON event (consensus_at, id) WHERE kind = 'SOLD';

-- What a sale cost, as its transaction on the ledger says; written soon after its event. All but the id is null if
-- the ledger does not show the transaction. Of a transaction of several NFTs, the share of this one.
CREATE TABLE sale (
    event_id INTEGER PRIMARY KEY REFERENCES event (id) ON DELETE CASCADE,
    way TEXT CHECK (way IN ('single', 'basket', 'offer')),
    part_tinybars INTEGER, -- the marketplace's part of the price
    royalties TEXT, -- JSON text of [{"collector", "tinybars"}, ...]
    network_tinybars INTEGER, -- charged to the marketplace's account, without the next one
    association_tinybars INTEGER, -- charged to it for the buyer's association with the token
    -- The exchange rate that was read last before the sale, if one was: US cents for an amount of HBAR
    rate_cents INTEGER,
    rate_hbar INTEGER
) STRICT;

-- Each change of the exchange rate, as the watcher read it.
CREATE TABLE exchange_rate (
    read_at TEXT PRIMARY KEY,
    cents INTEGER NOT NULL,
    hbar INTEGER NOT NULL
) STRICT;

-- What the operator decided, until it is undone. store/decisions.py applies it to the tables above.
CREATE TABLE decision (
    kind TEXT NOT NULL CHECK (kind IN ('hidden', 'blocked', 'verified')),
    id TEXT NOT NULL, -- of a token, or of a blocked account
    serial_no INTEGER NOT NULL DEFAULT 0 CHECK (serial_no >= 0), -- of a hidden NFT; 0 for a token or an account
    reason TEXT NOT NULL,
    since TEXT NOT NULL,
    is_public INTEGER NOT NULL CHECK (is_public IN (0, 1)), -- whether clients see the reason
    list TEXT, -- the file that names it; null: a command did
    -- Of a verified token, what it was called then: it is verified while it is called so
    name TEXT,
    symbol TEXT,
    decided_by TEXT, -- the account that has signed in to the console; null: a command did
    PRIMARY KEY (kind, id, serial_no)
) STRICT;

-- A decision, made or undone, that is not yet applied to all NFTs that it is about: there are many.
CREATE TABLE decision_to_apply (
    kind TEXT NOT NULL CHECK (kind IN ('hidden', 'blocked')),
    id TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    PRIMARY KEY (kind, id, serial_no)
) STRICT;

-- One image that nobody gets, because the NFT that had it is hidden, or its collection (serial_no 0). An NFT that is
-- shown, and has the same image, ends this.
CREATE TABLE hidden_image (
    key TEXT NOT NULL,
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    is_removed INTEGER NOT NULL DEFAULT 0 CHECK (is_removed IN (0, 1)), -- whether the media store has it no more
    PRIMARY KEY (key, token, serial_no)
) STRICT, WITHOUT ROWID;

-- Serves decisions.apply.
CREATE INDEX hidden_image_by_nft ON hidden_image (token, serial_no);

-- Serves decisions.list_images_to_remove.
CREATE INDEX hidden_image_to_remove ON hidden_image (is_removed, key) WHERE is_removed = 0;

-- One URL to which events are delivered, and how far they were.
CREATE TABLE webhook (
    id TEXT PRIMARY KEY, -- the beginning of the SHA-256 of its secret, hexadecimal
    url TEXT NOT NULL,
    kinds TEXT NOT NULL, -- of the events to deliver, separated by spaces; empty: all
    is_private INTEGER NOT NULL CHECK (is_private IN (0, 1)), -- whether url may be in a private network
    secret TEXT NOT NULL, -- signs messages: whsec_ and base64
    delivered_to INTEGER NOT NULL, -- all events up to this id are delivered
    failure TEXT, -- of the last attempt; null if that succeeded, or there was none
    failed_since TEXT, -- when the first failure since the last success was
    due_at TEXT -- after a failure, when to try again; null after a failure: given up
) STRICT;

-- One transaction that a caller received to have it signed, or that the marketplace submits for a caller. It tells what
-- to look for on the ledger, and what to answer to a report, but decides nothing about an NFT. For a purchase, whose fee
-- the marketplace pays, it also has the fee.
CREATE TABLE prepared_transaction (
    transaction_id TEXT PRIMARY KEY, -- 0.0.x@seconds.nanoseconds, nine digits of them
    kind TEXT NOT NULL CHECK (kind IN ('listing', 'withdrawal', 'purchase', 'offer', 'acceptance',
        'offer_withdrawal')),
    account_id TEXT NOT NULL, -- the account that must sign: the owner, the buyer, or the bidder
    prepared_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    caller TEXT NOT NULL, -- name of the access token that asked for it; empty if a host authenticates callers
    end_user TEXT NOT NULL, -- the name or the IP address of the end user who asked for it; empty if unknown
    schedule_id TEXT, -- of the offer that it is about; null if it is about none, or creates it
    -- Only if the marketplace pays for it, otherwise null
    fee_tinybars INTEGER CHECK (fee_tinybars >= 0), -- the fee charged; until it is known, the highest possible fee
    is_settled INTEGER CHECK (is_settled IN (0, 1)), -- whether the fee is known
    is_sold INTEGER CHECK (is_sold IN (0, 1)), -- whether the purchase succeeded; null until it is settled
    signed BLOB, -- the signed transaction, to submit it again; null once it is settled
    charged_to TEXT, -- the consensus timestamp of the newest row that the fee includes; null until there is one
    unsigned BLOB, -- only if the user pays: as it was handed out, to compare it with what is handed in
    CHECK ((kind = 'purchase') = (fee_tinybars IS NOT NULL)),
    CHECK ((kind = 'purchase') = (is_settled IS NOT NULL))
) STRICT;

-- Serves prepared_transactions.list_sellers, count_open and delete_expired.
CREATE INDEX preparation_by_expiry
    ON prepared_transaction (expires_at, account_id) WHERE is_settled IS NULL;

-- Serves prepared_transactions.get_held and delete_expired.
CREATE INDEX purchase_by_expiry
    ON prepared_transaction (expires_at, fee_tinybars) WHERE is_settled IS NOT NULL;

-- Serves prepared_transactions.count_open, list_unsettled and mark_never_submitted.
CREATE INDEX purchase_unsettled ON prepared_transaction (expires_at) WHERE is_settled = 0;

-- Serves prepared_transactions.get_newest_of_schedule and delete_prepared_beyond.
CREATE INDEX prepared_by_schedule ON prepared_transaction (schedule_id, account_id) WHERE schedule_id IS NOT NULL;

-- One NFT of a prepared transaction.
CREATE TABLE prepared_nft (
    transaction_id TEXT NOT NULL REFERENCES prepared_transaction (transaction_id) ON DELETE CASCADE,
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    price INTEGER CHECK (price BETWEEN 1 AND 50000000000), -- null for a withdrawal
    seller TEXT, -- only for a purchase or an offer, otherwise null
    PRIMARY KEY (transaction_id, token, serial_no),
    FOREIGN KEY (token, serial_no) REFERENCES nft (token, serial_no)
) STRICT, WITHOUT ROWID;

-- Serves prepared_transactions.get_newest_prepared, list_open_purchases and delete_prepared_beyond.
CREATE INDEX prepared_nft_by_nft ON prepared_nft (token, serial_no, transaction_id);

-- One schedule that is an offer, as the ledger showed it last: market/offers/rule.py. It can be accepted while it is
-- open, covered and not expired, and its seller owns the NFT: store/offers.py.
CREATE TABLE offer (
    schedule_id TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    serial_no INTEGER NOT NULL CHECK (serial_no > 0),
    seller TEXT NOT NULL, -- the owner from whom the schedule takes the NFT
    bidder TEXT NOT NULL,
    price INTEGER NOT NULL CHECK (price BETWEEN 1 AND 50000000000), -- HBAR
    transaction_id TEXT NOT NULL, -- of its creation, and of its execution
    created_at TEXT NOT NULL, -- consensus timestamp of its creation
    expires_at TEXT NOT NULL,
    body BLOB NOT NULL, -- the scheduled transaction, a SchedulableTransactionBody
    -- closed: the bidder's account has another key than at the creation, or the marketplace asks for a larger part
    state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'executed', 'failed', 'withdrawn', 'expired')),
    state_at TEXT NOT NULL, -- consensus timestamp of the schedule's newest change whose date is known
    accepted_at TEXT, -- consensus timestamp of the owner's signature, if it did not execute the sale
    -- Whether the bidder's balance covers price and fees, and when that was looked at last; null: never
    is_covered INTEGER NOT NULL DEFAULT 0 CHECK (is_covered IN (0, 1)),
    covered_at TEXT
) STRICT;

-- Serves offers.list_open of an NFT.
CREATE INDEX offer_by_nft ON offer (token, serial_no, price DESC, schedule_id) WHERE state = 'open';

-- Serves offers.list_open of a collection, and offers.get_best.
CREATE INDEX offer_by_token ON offer (token, price DESC, schedule_id) WHERE state = 'open';

-- Serves offers.list_made.
CREATE INDEX offer_by_bidder ON offer (bidder, price DESC, schedule_id);

-- Serves offers.list_open of an owner.
CREATE INDEX offer_by_seller ON offer (seller, price DESC, schedule_id) WHERE state = 'open';

-- Serves offers.get_offer_of_transaction.
CREATE INDEX offer_by_transaction ON offer (transaction_id);

-- Serves offers.list_expired and list_unended.
CREATE INDEX offer_unended ON offer (expires_at) WHERE state IN ('open', 'closed');

-- Serves offers.delete_ended.
CREATE INDEX offer_ended ON offer (expires_at) WHERE state IN ('executed', 'failed', 'withdrawn', 'expired');

-- Serves offers.list_unended_of.
CREATE INDEX offer_unended_by_bidder ON offer (bidder, schedule_id) WHERE state IN ('open', 'closed');

-- Serves offers.list_to_cover.
CREATE INDEX offer_to_cover ON offer ((COALESCE(covered_at, ''))) WHERE state = 'open';

-- How far the ledger's transactions were followed: one row, or none before the first start of a watcher.
CREATE TABLE follow (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    began_at TEXT NOT NULL, -- when following began: a sweep checks what came before
    cursor_at TEXT NOT NULL, -- consensus timestamp up to which every transaction was seen
    fresh_at TEXT NOT NULL, -- the ledger's time up to which every transaction was seen
    heartbeat_at TEXT NOT NULL, -- when a watcher last wrote this row, by its own clock
    backfilled_to TEXT, -- approvals and offers before began_at were read up to this time; null: all that concern us were read
    sweep_began_at TEXT, -- when the running sweep began; null if none is running
    swept_to TEXT -- the last account or token that it compared; null: none yet
) STRICT;

-- The queue of rechecks: a transaction may have changed this NFT, this token's NFTs, this account's listings, or this
-- offer.
CREATE TABLE recheck (
    -- seller: an account that has listed several NFTs, so that its listings may have new prices
    kind TEXT NOT NULL CHECK (kind IN ('nft', 'token', 'account', 'seller', 'offer')),
    id TEXT NOT NULL, -- of a token, of an account, or of an offer's schedule
    serial_no INTEGER NOT NULL CHECK ((kind = 'nft') = (serial_no > 0)), -- 0 for all but an NFT
    changed_at TEXT NOT NULL, -- consensus timestamp of the newest such transaction
    since TEXT NOT NULL, -- of the oldest one since the last final check; 1970: it was never compared
    due_at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, id, serial_no)
) STRICT;

-- Serves rechecks.list_rechecks_due.
CREATE INDEX recheck_due ON recheck (kind, due_at);

-- Facts about the whole database, for example its network, its account, and the version of its schema.
CREATE TABLE property (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- One access token. Only its hash is stored.
CREATE TABLE access_token (
    hash TEXT PRIMARY KEY, -- SHA-256 of the token, hexadecimal
    name TEXT NOT NULL,
    scopes TEXT NOT NULL, -- separated by spaces, as in RFC 6749
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    rate TEXT, -- its limit of writes, for example 600/m; null: the setting WRITE_LIMIT
    last_used_at TEXT, -- rounded down to the hour; null: never
    replaced_at TEXT -- when another token with its name replaced it: it then works until expires_at; null: never
) STRICT;

-- Of the tokens with a name that are not revoked, at most one was not replaced.
CREATE UNIQUE INDEX access_token_name ON access_token (name) WHERE revoked_at IS NULL AND replaced_at IS NULL;

-- Serves access_tokens.mark_access_token_revoked and mark_access_token_replaced.
CREATE INDEX access_token_by_name ON access_token (name) WHERE revoked_at IS NULL;
