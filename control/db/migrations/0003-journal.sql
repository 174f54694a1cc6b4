CREATE TABLE IF NOT EXISTS audit_log (
  id bigserial PRIMARY KEY,
  ts timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL,
  action text NOT NULL,
  entity_type text NOT NULL,
  entity_id text NOT NULL,
  detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS audit_log_ts ON audit_log (ts DESC, id DESC);
CREATE INDEX IF NOT EXISTS audit_log_action ON audit_log (action, ts DESC);
CREATE INDEX IF NOT EXISTS audit_log_entity ON audit_log (entity_type, entity_id, ts DESC);

CREATE TABLE IF NOT EXISTS outbox (
  id bigserial PRIMARY KEY,
  hot_key text NOT NULL,
  payload jsonb,
  rev bigint NOT NULL,
  invalidation text NOT NULL,
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  done_at timestamptz,
  last_error text
);
CREATE INDEX IF NOT EXISTS outbox_due ON outbox (next_attempt_at) WHERE done_at IS NULL;

CREATE TABLE IF NOT EXISTS idempotency_keys (
  key_hash text NOT NULL,
  scope text NOT NULL,
  body_hash text NOT NULL,
  status int,
  answer bytea,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (scope, key_hash)
);
CREATE INDEX IF NOT EXISTS idempotency_keys_expires ON idempotency_keys (expires_at);
