ALTER TABLE dashboard_users DROP CONSTRAINT IF EXISTS dashboard_users_role_check;
ALTER TABLE dashboard_users
  ADD CONSTRAINT dashboard_users_role_check CHECK (role IN ('admin', 'auditor', 'user', 'viewer')),
  ADD COLUMN IF NOT EXISTS group_role text CHECK (group_role IN ('admin', 'auditor'));
CREATE TABLE IF NOT EXISTS dashboard_user_tenants (
  user_id uuid NOT NULL REFERENCES dashboard_users (id) ON DELETE CASCADE,
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  source text NOT NULL CHECK (source IN ('admin', 'group')),
  role text NOT NULL CHECK (role IN ('user', 'viewer')),
  PRIMARY KEY (user_id, tenant_id, source)
);
CREATE INDEX IF NOT EXISTS dashboard_user_tenants_tenant ON dashboard_user_tenants (tenant_id);
ALTER TABLE dashboard_sessions
  ADD COLUMN IF NOT EXISTS id uuid NOT NULL DEFAULT gen_random_uuid(),
  ADD COLUMN IF NOT EXISTS tenant_id uuid REFERENCES tenants (id) ON DELETE SET NULL,
  ADD COLUMN IF NOT EXISTS last_seen_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN IF NOT EXISTS address text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS agent text NOT NULL DEFAULT '';
CREATE UNIQUE INDEX IF NOT EXISTS dashboard_sessions_id ON dashboard_sessions (id);
CREATE INDEX IF NOT EXISTS dashboard_sessions_tenant ON dashboard_sessions (tenant_id);
CREATE TABLE IF NOT EXISTS dashboard_invitations (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  email text NOT NULL UNIQUE,
  role text NOT NULL CHECK (role IN ('admin', 'auditor', 'user', 'viewer')),
  tenant_ids jsonb NOT NULL DEFAULT '[]',
  invited_by text NOT NULL,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS dashboard_invitations_newest ON dashboard_invitations (created_at, id);
CREATE TABLE IF NOT EXISTS dashboard_group_grants (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  provider text NOT NULL,
  group_name text NOT NULL,
  role text NOT NULL CHECK (role IN ('admin', 'auditor', 'user', 'viewer')),
  tenant_id uuid REFERENCES tenants (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX IF NOT EXISTS dashboard_group_grants_once
  ON dashboard_group_grants (provider, group_name, role, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));
CREATE INDEX IF NOT EXISTS dashboard_group_grants_tenant ON dashboard_group_grants (tenant_id);
