-- Note which rows the fee of a purchase includes: it may be submitted several times
ALTER TABLE prepared_transaction ADD COLUMN charged_to TEXT;
UPDATE prepared_transaction SET charged_to = expires_at WHERE is_settled = 1 AND fee_tinybars > 0;
