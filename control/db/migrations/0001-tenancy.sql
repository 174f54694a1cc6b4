CREATE SEQUENCE IF NOT EXISTS config_rev;

CREATE TABLE IF NOT EXISTS fairshare_groups (
  name text PRIMARY KEY,
  weight int NOT NULL CHECK (weight >= 1),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  rev bigint NOT NULL
);
INSERT INTO fairshare_groups (name, weight, rev) VALUES ('default', 100, nextval('config_rev')) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS tenants (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL UNIQUE,
  description text NOT NULL DEFAULT '',
  organization text NOT NULL DEFAULT '',
  contact text NOT NULL DEFAULT '',
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'archived')),
  timezone text NOT NULL DEFAULT 'UTC',
  fairshare_group text NOT NULL DEFAULT 'default' REFERENCES fairshare_groups (name),
  weight int NOT NULL DEFAULT 100 CHECK (weight >= 1),
  tokens_per_minute bigint NOT NULL DEFAULT 0 CHECK (tokens_per_minute >= 0),
  max_in_flight bigint,
  active_from timestamptz,
  active_until timestamptz,
  weekly_windows jsonb NOT NULL DEFAULT '[]',
  budget_tokens bigint,
  budget_cost_usd double precision,
  budget_period text,
  budget_started_at timestamptz,
  allowed_models jsonb,
  guardrails_policy jsonb,
  compression_policy jsonb,
  tracing_enabled boolean NOT NULL DEFAULT false,
  synthetic boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  rev bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS tenants_group ON tenants (fairshare_group);
CREATE INDEX IF NOT EXISTS tenants_created ON tenants (created_at, id);

CREATE TABLE IF NOT EXISTS api_keys (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  name text NOT NULL DEFAULT '',
  description text NOT NULL DEFAULT '',
  key_prefix text NOT NULL,
  key_hash text NOT NULL UNIQUE,
  disabled boolean NOT NULL DEFAULT false,
  tracing_enabled boolean NOT NULL DEFAULT false,
  budget_tokens bigint,
  budget_cost_usd double precision,
  budget_period text,
  budget_started_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  rev bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS api_keys_tenant ON api_keys (tenant_id, created_at);
CREATE INDEX IF NOT EXISTS api_keys_created ON api_keys (created_at DESC);
