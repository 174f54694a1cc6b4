CREATE TABLE IF NOT EXISTS alert_issues (
  issue_key text PRIMARY KEY,
  title text NOT NULL,
  detail text NOT NULL,
  waiting bigint NOT NULL DEFAULT 0,
  place bigserial NOT NULL,
  told_at_ms bigint,
  claimed_until_ms bigint
);
CREATE INDEX IF NOT EXISTS alert_issues_waiting ON alert_issues (place) WHERE waiting > 0;
CREATE TABLE IF NOT EXISTS alert_sources (
  cell text PRIMARY KEY,
  ledger text NOT NULL,
  through bigint NOT NULL
);
