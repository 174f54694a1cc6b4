CREATE TABLE IF NOT EXISTS dashboard_keys (
  key_id uuid PRIMARY KEY REFERENCES api_keys (id) ON DELETE CASCADE,
  user_id uuid NOT NULL
);
