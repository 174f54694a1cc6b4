ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS key_pepper text;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS previous_key_pepper text;
