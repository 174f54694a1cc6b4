/** A large configuration, written directly into the tables: tenants with a few keys each, and one with many. */
import { sql } from "drizzle-orm";
import type { Database } from "../../control/db/connect.ts";

interface Quantity {
  readonly tenants: number;
  readonly keysEach: number;
  /** How many keys one more tenant has, whose name is `large`. */
  readonly keysOfLarge: number;
}

/** Fills an empty database. The key hashes belong to no secret. */
export async function seedMany(db: Database, { tenants, keysEach, keysOfLarge }: Quantity): Promise<void> {
  await db.execute(sql`
    INSERT INTO tenants (name, rev, created_at)
    SELECT CASE n WHEN 0 THEN 'large' ELSE 'tenant ' || n END, nextval('config_rev'), timestamptz '2026-01-01' + n * interval '1 minute'
    FROM generate_series(0, ${tenants}::int) AS n`);
  await db.execute(sql`
    INSERT INTO api_keys (tenant_id, name, key_prefix, key_hash, disabled, rev, created_at)
    SELECT tenants.id, 'key ' || n, 'sk_' || left(md5(tenants.id::text || n), 15),
      md5(tenants.id::text) || md5(tenants.id::text || n),
      n = 1 AND right(tenants.name, 2) = '00', nextval('config_rev'), tenants.created_at + n * interval '1 second'
    FROM tenants, generate_series(1, CASE tenants.name WHEN 'large' THEN ${keysOfLarge}::int ELSE ${keysEach}::int END) AS n`);
  await db.execute(sql`
    INSERT INTO audit_log (actor, action, entity_type, entity_id, ts)
    SELECT 'admin', 'create_key', 'api_key', id::text, created_at FROM api_keys`);
  await db.execute(sql`ANALYZE`);
}
