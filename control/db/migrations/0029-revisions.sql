ALTER TABLE managed_models ADD COLUMN IF NOT EXISTS rev bigint NOT NULL DEFAULT nextval('config_rev');
ALTER TABLE recipes ADD COLUMN IF NOT EXISTS rev bigint NOT NULL DEFAULT nextval('config_rev');
ALTER TABLE dashboard_users ADD COLUMN IF NOT EXISTS rev bigint NOT NULL DEFAULT nextval('config_rev');
