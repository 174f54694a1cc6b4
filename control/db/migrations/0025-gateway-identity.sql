CREATE TABLE IF NOT EXISTS gateway_identity (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  id text NOT NULL,
  made_on text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS backup_places (
  place text PRIMARY KEY,
  not_before timestamptz,
  last_ok_at timestamptz,
  last_name text,
  last_bytes bigint
);
