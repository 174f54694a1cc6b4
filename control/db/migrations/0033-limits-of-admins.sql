ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS disabled_by text CHECK (disabled_by IN ('admin', 'user', 'system'));
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS admin_limits jsonb;
