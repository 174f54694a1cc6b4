CREATE TABLE IF NOT EXISTS alert_log (
  id bigserial PRIMARY KEY,
  issue_key text NOT NULL,
  title text NOT NULL,
  detail text NOT NULL,
  began_at_ms bigint NOT NULL,
  last_at_ms bigint NOT NULL,
  times bigint NOT NULL,
  firing_since_ms bigint NOT NULL,
  firing_times bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS alert_log_issue ON alert_log (issue_key, id DESC);
CREATE INDEX IF NOT EXISTS alert_log_last ON alert_log (last_at_ms);
