-- All replicas that a model has ever had, for the events of a model's replicas.
CREATE INDEX IF NOT EXISTS audit_log_replicas ON audit_log ((detail ->> 'model_id'), entity_id)
  WHERE action = 'create_replica';

-- What came of a proposal that was run; null: no answer has come, or it was run before this was kept.
ALTER TABLE assistant_runs ADD COLUMN IF NOT EXISTS status int;
