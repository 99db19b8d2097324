-- Pay staking rewards
ALTER TABLE account ADD COLUMN pending_reward INTEGER NOT NULL DEFAULT 0 CHECK (pending_reward >= 0);
