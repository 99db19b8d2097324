-- Let two access tokens have a name while one replaces the other
ALTER TABLE access_token ADD COLUMN replaced_at TEXT;
DROP INDEX access_token_name;
CREATE UNIQUE INDEX access_token_name ON access_token (name) WHERE revoked_at IS NULL AND replaced_at IS NULL;
CREATE INDEX access_token_by_name ON access_token (name) WHERE revoked_at IS NULL;
