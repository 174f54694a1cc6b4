ALTER TABLE tenants ADD COLUMN IF NOT EXISTS end_user_budget_tokens bigint;
ALTER TABLE tenants ADD COLUMN IF NOT EXISTS end_user_budget_cost_usd double precision;
ALTER TABLE tenants ADD COLUMN IF NOT EXISTS end_user_budget_period text;
