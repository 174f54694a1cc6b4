ALTER TABLE models ADD COLUMN IF NOT EXISTS cached_input_cost_per_token double precision;
ALTER TABLE models ADD COLUMN IF NOT EXISTS reasoning_output_cost_per_token double precision;
ALTER TABLE models ADD COLUMN IF NOT EXISTS input_cost_per_second double precision NOT NULL DEFAULT 0;
