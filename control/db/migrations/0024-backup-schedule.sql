CREATE TABLE IF NOT EXISTS backup_schedule (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  place text NOT NULL,
  interval_secs integer NOT NULL CHECK (interval_secs >= 1),
  since timestamptz NOT NULL DEFAULT now(),
  not_before timestamptz,
  last_ok_at timestamptz,
  last_name text,
  last_bytes bigint,
  failing_since timestamptz,
  last_error text
);
