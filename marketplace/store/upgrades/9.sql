-- Find what an account holds
CREATE INDEX nft_by_owner ON nft (owner, token, serial_no) WHERE ledger_at < '9999';
