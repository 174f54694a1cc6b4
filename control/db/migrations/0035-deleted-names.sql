CREATE TABLE IF NOT EXISTS deleted_names (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  name text NOT NULL,
  key_prefix text NOT NULL DEFAULT '',
  deleted_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO deleted_names (id, tenant_id, name, key_prefix, deleted_at)
SELECT DISTINCT ON (entity_id)
  entity_id::uuid,
  COALESCE(detail ->> 'tenant_id', entity_id)::uuid,
  detail ->> 'name',
  COALESCE(detail ->> 'key_prefix', ''),
  ts
FROM audit_log
WHERE action IN ('delete_key', 'delete_tenant') AND detail ->> 'name' IS NOT NULL
  AND entity_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
ORDER BY entity_id, ts DESC
ON CONFLICT (id) DO NOTHING;
