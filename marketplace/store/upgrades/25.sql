-- Store the secrets of webhooks, which webhook.key made until now
ALTER TABLE webhook RENAME TO earlier;
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
