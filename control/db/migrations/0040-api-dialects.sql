ALTER TABLE models ADD COLUMN IF NOT EXISTS api_dialect text NOT NULL DEFAULT 'openai';
ALTER TABLE models ADD COLUMN IF NOT EXISTS auth_scheme text NOT NULL DEFAULT 'bearer';
ALTER TABLE model_endpoints ADD COLUMN IF NOT EXISTS auth_scheme text;
