-- Write down the traits of each NFT, to filter by, to count and to rank
DROP INDEX nft_listed_in_collection;
CREATE INDEX nft_listed_in_collection
    ON nft (token, serial_no, listing_price) WHERE is_for_sale = 1;
ALTER TABLE collection ADD COLUMN traits_version INTEGER NOT NULL DEFAULT 0;
CREATE TABLE nft_trait (
    token TEXT NOT NULL,
    type TEXT NOT NULL,
    value TEXT NOT NULL,
    serial_no INTEGER NOT NULL,
    PRIMARY KEY (token, type, value, serial_no)
) STRICT, WITHOUT ROWID;
