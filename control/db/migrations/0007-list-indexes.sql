CREATE INDEX IF NOT EXISTS api_keys_disabled ON api_keys (created_at DESC, id DESC) WHERE disabled;
