ALTER TABLE tenants ADD COLUMN IF NOT EXISTS files_bytes bigint NOT NULL DEFAULT 2000000000;
ALTER TABLE models ADD COLUMN IF NOT EXISTS batch_price_factor double precision NOT NULL DEFAULT 1;
CREATE TABLE IF NOT EXISTS files (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  purpose text NOT NULL CHECK (purpose IN ('batch', 'batch_output')),
  filename text NOT NULL,
  bytes bigint NOT NULL DEFAULT 0,
  complete boolean NOT NULL DEFAULT false,
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS files_of_tenant ON files (tenant_id, created_at, id);
CREATE TABLE IF NOT EXISTS file_pieces (
  file_id uuid NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (file_id, n)
);
CREATE TABLE IF NOT EXISTS batches (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  key_id uuid NOT NULL,
  endpoint text NOT NULL,
  input_file_id uuid NOT NULL,
  output_file_id uuid,
  error_file_id uuid,
  status text NOT NULL,
  metadata jsonb,
  errors jsonb NOT NULL DEFAULT '[]',
  lines_total integer NOT NULL DEFAULT 0,
  lines_completed integer NOT NULL DEFAULT 0,
  lines_failed integer NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL,
  in_progress_at timestamptz,
  finalizing_at timestamptz,
  cancelling_at timestamptz,
  ended_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS batches_newest ON batches (created_at, id);
CREATE INDEX IF NOT EXISTS batches_of_tenant ON batches (tenant_id, created_at, id);
CREATE INDEX IF NOT EXISTS batches_open ON batches (created_at) WHERE ended_at IS NULL;
CREATE TABLE IF NOT EXISTS batch_lines (
  batch_id uuid NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
  n integer NOT NULL,
  custom_id text NOT NULL,
  model text NOT NULL,
  body text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'completed', 'failed')),
  tries integer NOT NULL DEFAULT 0,
  request_id uuid,
  cell text NOT NULL DEFAULT '',
  status integer,
  answer text,
  PRIMARY KEY (batch_id, n),
  UNIQUE (batch_id, custom_id)
);
CREATE INDEX IF NOT EXISTS batch_lines_open ON batch_lines (batch_id, model, n) WHERE state IN ('waiting', 'sent');
