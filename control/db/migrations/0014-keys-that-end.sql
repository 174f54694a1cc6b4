ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS expires_at timestamptz;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS allowed_models jsonb;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS previous_key_hash text;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS previous_secret_until timestamptz;
CREATE UNIQUE INDEX IF NOT EXISTS api_keys_previous_hash ON api_keys (previous_key_hash);
CREATE INDEX IF NOT EXISTS api_keys_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS api_keys_previous_until ON api_keys (previous_secret_until)
  WHERE previous_secret_until IS NOT NULL;
