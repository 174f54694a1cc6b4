/**
 * The table of fields of each resource is complete: the database, the record, the backup and the hot copy have what the
 * table says and nothing else, and a restore brings every field back.
 *
 * @module-tag check
 */
import { getTableColumns, getTableName, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { ENDPOINT_FIELDS } from "../../shared/fields/endpoint-fields.ts";
import type { FieldTable } from "../../shared/fields/field-table.ts";
import { GROUP_FIELDS } from "../../shared/fields/group-fields.ts";
import { KEY_FIELDS } from "../../shared/fields/key-fields.ts";
import { MCP_SERVER_FIELDS } from "../../shared/fields/mcp-server-fields.ts";
import { MODEL_FIELDS } from "../../shared/fields/model-fields.ts";
import { TENANT_FIELDS } from "../../shared/fields/tenant-fields.ts";
import {
  mcpServerRecordSchema,
  modelRecordSchema,
  resolvedEndpointSchema,
  resolvedKeySchema,
  resolvedTenantSchema,
  storeKeys,
} from "../../shared/records.ts";
import { apiKeySchema } from "../../shared/schema/api-key.ts";
import type { BackupEntity } from "../../shared/schema/backup.ts";
import { fairshareGroupSchema } from "../../shared/schema/fairshare.ts";
import { mcpServerSchema } from "../../shared/schema/mcp-server.ts";
import { modelSchema } from "../../shared/schema/model.ts";
import { modelEndpointSchema } from "../../shared/schema/model-endpoint.ts";
import { tenantSchema } from "../../shared/schema/tenant.ts";
import { newEncryptionKey, startControl, type TestControl } from "../../test/harness/control.ts";
import { fillConfiguration } from "../../test/harness/full-configuration.ts";
import { type BackupRow, ENTITIES } from "../backup/backup-entities.ts";

interface Resource {
  readonly fields: FieldTable;
  readonly record: z.ZodObject;
  /** The schema of the hot copy, and its members that are no field: version, revisions, copies of other resources. */
  readonly hot?: { readonly schema: z.ZodObject; readonly besides: readonly string[] };
}

const RESOURCES: Readonly<Record<Exclude<BackupEntity, "app_settings">, Resource>> = {
  fairshare_groups: { fields: GROUP_FIELDS, record: fairshareGroupSchema },
  tenants: {
    fields: TENANT_FIELDS,
    record: tenantSchema,
    hot: { schema: resolvedTenantSchema, besides: ["rev", "group_rev"] },
  },
  api_keys: {
    fields: KEY_FIELDS,
    record: apiKeySchema,
    hot: { schema: resolvedKeySchema, besides: ["v", "tenant", "rev"] },
  },
  models: {
    fields: MODEL_FIELDS,
    record: modelSchema,
    hot: { schema: modelRecordSchema, besides: ["v", "endpoints", "rev"] },
  },
  model_endpoints: {
    fields: ENDPOINT_FIELDS,
    record: modelEndpointSchema,
    hot: { schema: resolvedEndpointSchema, besides: [] },
  },
  mcp_servers: {
    fields: MCP_SERVER_FIELDS,
    record: mcpServerSchema,
    hot: { schema: mcpServerRecordSchema, besides: ["v", "rev"] },
  },
};

const encryptionKey = newEncryptionKey();
let from: TestControl;
let to: TestControl;

beforeAll(async () => {
  from = await startControl({ encryptionKey });
  to = await startControl({ encryptionKey });
  await fillConfiguration(from);
  const file: unknown = await (await from.request("GET", "/api/v1/backup/export")).json();
  expect((await to.request("POST", "/api/v1/backup/restore", file)).status).toBe(200);
});
afterAll(async () => {
  await from.close();
  await to.close();
});

/** The rows of a table by their primary keys, times as texts. */
async function rowsOf(control: TestControl, table: PgTable, id: string): Promise<ReadonlyMap<unknown, BackupRow>> {
  const rows = (await control.connection.db.select().from(table)) as readonly BackupRow[];
  return new Map(rows.map((row) => [row[id], JSON.parse(JSON.stringify(row)) as BackupRow]));
}

/** The copy of a row; null where the kind has no copy of its own, or the row has no key by which a copy is found. */
async function copyOf(entity: BackupEntity, row: BackupRow): Promise<Readonly<Record<string, unknown>> | null> {
  const read = async (name: string): Promise<Readonly<Record<string, unknown>> | null> =>
    JSON.parse((await from.store.get([name]))[0] ?? "null") as Readonly<Record<string, unknown>> | null;
  const first = async (query: ReturnType<typeof sql>): Promise<string> =>
    Object.values(((await from.connection.db.execute(query)) as { rows: Record<string, string>[] }).rows[0] ?? {})[0] ??
    "";
  if (entity === "api_keys") return await read(storeKeys.key(String(row["key_hash"])));
  if (entity === "models") return await read(storeKeys.model(String(row["model_name"])));
  if (entity === "mcp_servers") return await read(storeKeys.mcp(String(row["name"])));
  if (entity === "tenants") {
    const hash = await first(sql`SELECT key_hash FROM api_keys WHERE tenant_id = ${row["id"]}::uuid`);
    return ((await read(storeKeys.key(hash)))?.["tenant"] ?? null) as Readonly<Record<string, unknown>> | null;
  }
  if (entity === "model_endpoints") {
    const model = await first(sql`SELECT model_name FROM models WHERE id = ${row["model_id"]}::uuid`);
    const endpoints = (await read(storeKeys.model(model)))?.["endpoints"] as readonly BackupRow[] | undefined;
    return endpoints?.find(({ id }) => id === row["id"]) ?? null;
  }
  return null;
}

const namesIn = (fields: FieldTable, place: "record" | "hot"): readonly string[] =>
  Object.entries(fields).flatMap(([name, field]) => {
    const shown = field[place] ?? place === "record";
    if (shown === true) return [name];
    return shown === false ? [] : Object.keys(shown);
  });

const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort();

describe.each(Object.entries(RESOURCES))("the fields of %s", (key, { fields, record, hot }) => {
  const entity = key as keyof typeof RESOURCES;
  const { table, schema: backup, id } = ENTITIES[entity];

  it("are the columns of the migrated database, which may be null where a value may", async () => {
    const { rows } = (await from.connection.db.execute(
      sql`SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = ${getTableName(table)}`,
    )) as unknown as { rows: { column_name: string; data_type: string; is_nullable: "YES" | "NO" }[] };
    const stored = rows.map((row) => [row.column_name, [row.data_type, row.is_nullable === "YES"]]);
    const columns = Object.values(getTableColumns(table)).map((it) => [it.name, [it.getSQLType(), !it.notNull]]);
    expect(Object.fromEntries(columns)).toEqual(Object.fromEntries(stored));
    expect(sorted(Object.keys(getTableColumns(table)))).toEqual(sorted([...Object.keys(fields), "rev"]));
    for (const [name, { value }] of Object.entries(fields))
      expect({ name, notNull: getTableColumns(table)[name]?.notNull }).toEqual({
        name,
        notNull: !value.safeParse(null).success,
      });
  });

  it("show in the record", () => {
    expect(sorted(Object.keys(record.shape).filter((name) => name !== "warnings" && name !== "rev"))).toEqual(
      sorted(namesIn(fields, "record")),
    );
  });

  it("are in the rows of a backup, and restored", async () => {
    const kept = Object.keys(fields).filter((name) => fields[name]?.backup !== false);
    expect(sorted(Object.keys(backup.shape))).toEqual(sorted(kept));
    const [before, after] = [await rowsOf(from, table, id), await rowsOf(to, table, id)];
    expect(before.size).toBeGreaterThan(0);
    for (const [rowId, row] of before)
      for (const name of kept) expect({ name, value: after.get(rowId)?.[name] }).toEqual({ name, value: row[name] });
  });

  it("are in the hot copy where the table says so, as they are stored", async () => {
    expect(sorted(Object.keys(hot?.schema.shape ?? {}).filter((name) => !hot?.besides.includes(name)))).toEqual(
      sorted(namesIn(fields, "hot")),
    );
    if (hot === undefined) return;
    const compared = [];
    for (const row of (await rowsOf(from, table, id)).values()) {
      const copy = await copyOf(entity, row);
      if (copy === null) continue;
      compared.push(row);
      for (const name of Object.keys(fields))
        if (fields[name]?.hot === true) expect({ name, value: copy[name] }).toEqual({ name, value: row[name] });
    }
    expect(compared.length).toBeGreaterThan(0);
  });
});
