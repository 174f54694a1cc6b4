CREATE TABLE IF NOT EXISTS benchmarks (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  started_by text NOT NULL,
  plan jsonb NOT NULL,
  state text NOT NULL CHECK (state IN ('running', 'done', 'stopped', 'lost')),
  points jsonb NOT NULL DEFAULT '[]',
  result jsonb,
  tenant_id uuid,
  deadline timestamptz NOT NULL,
  stop_requested boolean NOT NULL DEFAULT false,
  ended_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS benchmarks_newest ON benchmarks (created_at, id);
