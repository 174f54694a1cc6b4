ALTER TABLE tenants ADD COLUMN IF NOT EXISTS capture_until timestamptz;
