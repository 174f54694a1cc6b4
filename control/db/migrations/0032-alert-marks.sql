CREATE TABLE IF NOT EXISTS alert_marks (
  issue_key text PRIMARY KEY,
  acknowledged_at_ms bigint,
  acknowledged_by text,
  muted_until_ms bigint,
  muted_by text,
  rev bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS alert_failures (
  id bigserial PRIMARY KEY,
  issue_key text NOT NULL,
  title text NOT NULL,
  detail text NOT NULL,
  cell text NOT NULL,
  at_ms bigint NOT NULL,
  times bigint NOT NULL,
  raised boolean NOT NULL DEFAULT false,
  judged boolean NOT NULL DEFAULT false
);
CREATE INDEX IF NOT EXISTS alert_failures_issue ON alert_failures (issue_key, at_ms);
