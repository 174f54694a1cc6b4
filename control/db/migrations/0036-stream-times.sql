ALTER TABLE models ADD COLUMN IF NOT EXISTS first_token_timeout_secs int;
ALTER TABLE models ADD COLUMN IF NOT EXISTS idle_timeout_secs int;
ALTER TABLE models ADD COLUMN IF NOT EXISTS stream_keepalive_secs int NOT NULL DEFAULT 25;
