CREATE TABLE IF NOT EXISTS model_endpoints (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  model_id uuid NOT NULL REFERENCES models ON DELETE CASCADE,
  name text NOT NULL,
  api_base text NOT NULL,
  api_key text,
  priority bigint NOT NULL DEFAULT 100 CHECK (priority >= 0),
  weight bigint NOT NULL DEFAULT 100 CHECK (weight >= 1),
  enabled boolean NOT NULL DEFAULT true,
  health_status text NOT NULL DEFAULT 'unknown',
  consecutive_failures int NOT NULL DEFAULT 0,
  alert_state text NOT NULL DEFAULT 'ok',
  next_check_at timestamptz,
  last_checked_at timestamptz,
  last_latency_ms int,
  last_http_status int,
  last_message text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  rev bigint NOT NULL,
  UNIQUE (model_id, name)
);
CREATE INDEX IF NOT EXISTS model_endpoints_order ON model_endpoints (model_id, priority, name);
CREATE INDEX IF NOT EXISTS model_endpoints_next ON model_endpoints (next_check_at);

CREATE TABLE IF NOT EXISTS model_health_checks (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  model_id uuid NOT NULL REFERENCES models ON DELETE CASCADE,
  endpoint_id uuid,
  checked_at timestamptz NOT NULL DEFAULT now(),
  trigger text NOT NULL CHECK (trigger IN ('manual', 'bulk', 'scheduled')),
  status text NOT NULL,
  latency_ms int,
  http_status int,
  message text,
  response_excerpt text
);
CREATE INDEX IF NOT EXISTS model_health_checks_newest ON model_health_checks (model_id, checked_at DESC);

CREATE TABLE IF NOT EXISTS app_settings (
  key text PRIMARY KEY,
  value jsonb NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  rev bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS api_keys_newest ON api_keys (created_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS audit_log_actor ON audit_log (actor, ts DESC, id DESC);
