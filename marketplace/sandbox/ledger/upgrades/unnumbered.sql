-- The version of a sandbox's ledger that was made before databases were numbered.
SELECT 1
