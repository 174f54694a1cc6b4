CREATE TABLE IF NOT EXISTS managed_models (
  model_id uuid PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
  enabled boolean NOT NULL,
  partition text NOT NULL,
  gres text NOT NULL,
  nodes integer NOT NULL CHECK (nodes >= 1),
  constraints text,
  exclude text,
  account text,
  qos text,
  time_limit integer,
  cpus_per_task integer,
  mem integer,
  image text NOT NULL,
  preamble text NOT NULL,
  log_output_dir text NOT NULL,
  launch_command text NOT NULL,
  script_body text NOT NULL,
  serving_port integer NOT NULL CHECK (serving_port BETWEEN 1 AND 65535),
  health_path text NOT NULL,
  target_replicas integer NOT NULL CHECK (target_replicas >= 0),
  min_replicas integer NOT NULL CHECK (min_replicas >= 0),
  max_job_failures integer NOT NULL CHECK (max_job_failures >= 0),
  launcher_spec jsonb NOT NULL,
  provision_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS managed_models_oldest ON managed_models (created_at, model_id);
CREATE TABLE IF NOT EXISTS model_replicas (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  model_id uuid REFERENCES models (id) ON DELETE SET NULL,
  model_name text NOT NULL,
  intent_id uuid UNIQUE,
  job_id text UNIQUE,
  nodes text NOT NULL DEFAULT '',
  endpoint_id uuid REFERENCES model_endpoints (id) ON DELETE SET NULL,
  state text NOT NULL CHECK (state IN ('pending', 'starting', 'healthy', 'draining', 'lost')),
  state_since timestamptz NOT NULL DEFAULT now(),
  last_message text,
  port_base integer,
  restart_count integer NOT NULL DEFAULT 0 CHECK (restart_count >= 0),
  probe_misses integer NOT NULL DEFAULT 0 CHECK (probe_misses >= 0),
  cancel_requested boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK (intent_id IS NOT NULL OR job_id IS NOT NULL)
);
CREATE INDEX IF NOT EXISTS model_replicas_model ON model_replicas (model_id, created_at, id);
CREATE INDEX IF NOT EXISTS model_replicas_oldest ON model_replicas (created_at, id);
CREATE INDEX IF NOT EXISTS model_replicas_endpoint ON model_replicas (endpoint_id);
CREATE TABLE IF NOT EXISTS recipes (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL UNIQUE,
  description text NOT NULL,
  author text NOT NULL,
  body jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS provisioner_state (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  installation_id uuid NOT NULL DEFAULT gen_random_uuid(),
  last_tick_at timestamptz,
  last_outcome text CHECK (last_outcome IN ('ok', 'idle', 'error')),
  last_error text,
  last_ok_at timestamptz,
  enabled_since timestamptz,
  held_since timestamptz
);
