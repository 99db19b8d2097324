-- Keep the date of the facts that decided nothing: older facts no longer replace them
DROP INDEX nft_undecided;
UPDATE nft SET ledger_at = '1970-01-01T00:00:00.000000000?' WHERE ledger_at = '1970-01-01T00:00:00.000000000Z';
CREATE INDEX nft_undecided ON nft (owner) WHERE SUBSTR(ledger_at, 30) = '?';
