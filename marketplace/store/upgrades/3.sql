-- Give unknown dates a place in the order of listings
ALTER TABLE nft
ADD COLUMN listed_order TEXT NOT NULL GENERATED ALWAYS AS (COALESCE(last_listed_at, '')) VIRTUAL;
