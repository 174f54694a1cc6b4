ALTER TABLE models ADD COLUMN IF NOT EXISTS hidden_reasoning boolean NOT NULL DEFAULT false;
