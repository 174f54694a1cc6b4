ALTER TABLE model_replicas ADD COLUMN IF NOT EXISTS rev bigint NOT NULL DEFAULT nextval('config_rev');
CREATE TABLE IF NOT EXISTS cell_capacities (
  cell text PRIMARY KEY,
  rev bigint NOT NULL
);
