-- Index the order book by price, and by date and price for each collection
DROP INDEX IF EXISTS nft_by_listing_date;
CREATE INDEX nft_by_listing_date
    ON nft (listed_order DESC, token, serial_no, listing_price) WHERE is_for_sale = 1;
CREATE INDEX nft_in_collection_by_listing_date
    ON nft (token, listed_order DESC, serial_no, listing_price) WHERE is_for_sale = 1;
CREATE INDEX nft_by_price ON nft (listing_price, token, serial_no) WHERE is_for_sale = 1;
CREATE INDEX nft_by_price_descending
    ON nft (listing_price DESC, token, serial_no) WHERE is_for_sale = 1;
CREATE INDEX nft_in_collection_by_price
    ON nft (token, listing_price, serial_no) WHERE is_for_sale = 1;
CREATE INDEX nft_in_collection_by_price_descending
    ON nft (token, listing_price DESC, serial_no) WHERE is_for_sale = 1;
