ALTER TABLE models ADD COLUMN IF NOT EXISTS fallback_models jsonb NOT NULL DEFAULT '[]';
ALTER TABLE models ADD COLUMN IF NOT EXISTS fallback_on jsonb NOT NULL DEFAULT '["failure"]';
