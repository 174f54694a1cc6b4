ALTER TABLE alert_issues ADD COLUMN IF NOT EXISTS channel text NOT NULL DEFAULT 'slack';
ALTER TABLE alert_issues DROP CONSTRAINT IF EXISTS alert_issues_pkey;
ALTER TABLE alert_issues ADD PRIMARY KEY (channel, issue_key);
ALTER TABLE alert_issues ALTER COLUMN channel DROP DEFAULT;
INSERT INTO alert_issues (channel, issue_key, title, detail, waiting, told_at_ms, claimed_until_ms)
  SELECT 'email', issue_key, title, detail, waiting, told_at_ms, claimed_until_ms
  FROM alert_issues WHERE channel = 'slack' ORDER BY place
  ON CONFLICT DO NOTHING;
DROP INDEX IF EXISTS alert_issues_waiting;
CREATE INDEX IF NOT EXISTS alert_issues_waiting ON alert_issues (channel, place) WHERE waiting > 0;
CREATE TABLE IF NOT EXISTS alert_deliveries (
  channel text PRIMARY KEY,
  at_ms bigint NOT NULL,
  ok boolean NOT NULL,
  detail text NOT NULL,
  sent bigint NOT NULL,
  failed bigint NOT NULL
);
