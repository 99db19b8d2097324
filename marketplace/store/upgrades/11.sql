-- Name each webhook by its secret: the id of one that was removed is never given again
ALTER TABLE webhook RENAME TO earlier;
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
INSERT INTO webhook
SELECT
    substr(secret_hash, 1, 8), url, kinds, is_private, salt, delivered_to, failure, failed_since, due_at
FROM earlier;
DROP TABLE earlier;
