CREATE INDEX IF NOT EXISTS api_keys_tenant_order ON api_keys (tenant_id, created_at, id);
