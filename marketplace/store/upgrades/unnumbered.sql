-- The version of a database that was made before databases were numbered, as its columns tell.
SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM pragma_table_xinfo('nft') WHERE name = 'missing') THEN 1
    WHEN NOT EXISTS (SELECT 1 FROM pragma_table_xinfo('nft') WHERE name = 'listed_order') THEN 2
    ELSE 3
END
