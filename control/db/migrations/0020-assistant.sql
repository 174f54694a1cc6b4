CREATE TABLE IF NOT EXISTS assistant_runs (
  id uuid PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS assistant_runs_expiry ON assistant_runs (expires_at);
