-- Remove the deletion of accounts, which no transaction brings about any more
ALTER TABLE account DROP COLUMN deleted_at;
