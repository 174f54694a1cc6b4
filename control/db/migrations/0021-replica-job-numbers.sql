ALTER TABLE model_replicas DROP CONSTRAINT IF EXISTS model_replicas_job_id_key;
CREATE UNIQUE INDEX IF NOT EXISTS model_replicas_job ON model_replicas (job_id) WHERE state <> 'lost';
