ALTER TABLE models ADD COLUMN IF NOT EXISTS responses_api text NOT NULL DEFAULT 'native';
