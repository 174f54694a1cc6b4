ALTER TABLE models ADD COLUMN IF NOT EXISTS cache_write_cost_per_token double precision;
ALTER TABLE models ADD COLUMN IF NOT EXISTS audio_input_cost_per_token double precision;
ALTER TABLE models ADD COLUMN IF NOT EXISTS audio_output_cost_per_token double precision;
ALTER TABLE models ADD COLUMN IF NOT EXISTS image_input_cost_per_token double precision;
ALTER TABLE models ADD COLUMN IF NOT EXISTS image_output_cost_per_token double precision;
