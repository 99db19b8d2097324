-- Index offers that have ended: they are deleted some day
CREATE INDEX offer_ended ON offer (expires_at) WHERE state IN ('executed', 'failed', 'withdrawn', 'expired');
