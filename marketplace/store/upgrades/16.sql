-- Note which traits weigh nothing in a rank
ALTER TABLE nft ADD COLUMN unranked TEXT;
CREATE INDEX nft_unranked ON nft (token, serial_no) WHERE unranked IS NOT NULL;
