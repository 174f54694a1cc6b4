ALTER TABLE model_health ADD COLUMN IF NOT EXISTS evidence_from timestamptz;
ALTER TABLE model_health ADD COLUMN IF NOT EXISTS failing_since timestamptz;
ALTER TABLE model_endpoints ADD COLUMN IF NOT EXISTS failing_since timestamptz;
CREATE INDEX IF NOT EXISTS model_health_checks_age ON model_health_checks (checked_at);

CREATE TABLE IF NOT EXISTS alert_outbox (
  seq bigserial PRIMARY KEY,
  event jsonb NOT NULL,
  claimed_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
