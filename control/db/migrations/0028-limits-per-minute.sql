ALTER TABLE tenants ADD COLUMN IF NOT EXISTS requests_per_minute bigint NOT NULL DEFAULT 0 CHECK (requests_per_minute >= 0);
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS tokens_per_minute bigint NOT NULL DEFAULT 0 CHECK (tokens_per_minute >= 0);
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS requests_per_minute bigint NOT NULL DEFAULT 0 CHECK (requests_per_minute >= 0);
