-- Index the owners of each collection's NFTs
CREATE INDEX nft_in_collection_by_owner ON nft (token, owner) WHERE ledger_at < '9999';
