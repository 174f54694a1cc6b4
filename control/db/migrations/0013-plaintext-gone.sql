ALTER TABLE encryption_check ADD COLUMN IF NOT EXISTS plaintext_gone boolean NOT NULL DEFAULT false;
