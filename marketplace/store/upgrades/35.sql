-- Keep no wallet and no memo of a prepared transaction
ALTER TABLE prepared_transaction DROP COLUMN wallet;
ALTER TABLE prepared_transaction DROP COLUMN memo;
