CREATE TABLE IF NOT EXISTS shared_secrets (
  name text PRIMARY KEY,
  digest text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
