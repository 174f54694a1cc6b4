/**
 * The content of a backup, as a table: for each entity its rows, what identifies a row, what it refers to, and which
 * columns are credentials or upstream addresses. Export and restore know no entity; a new one is another entry here and its
 * schema.
 */
import { getTableColumns, inArray, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { z } from "zod";
import {
  type BackupEntity,
  backupEndpointSchema,
  backupGroupSchema,
  backupKeySchema,
  backupMcpServerSchema,
  backupModelSchema,
  backupSettingSchema,
  backupTenantSchema,
} from "../../shared/schema/backup.ts";
import type { RevItem } from "../../shared/wire/internal.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { mcpServers } from "../db/schema/mcp-servers.ts";
import { models } from "../db/schema/models.ts";
import { appSettings } from "../db/schema/settings.ts";
import { apiKeys, fairshareGroups, tenants } from "../db/schema/tenancy.ts";
import { fittingFields, SETTINGS } from "../kernel/settings/definitions.ts";
import { isKeyOfPeople, isOfAdmins } from "../tenants/own-tenants.ts";

/** A row of the file, or of the database with its dates as texts. */
export type BackupRow = Readonly<Record<string, unknown>>;

export interface EntityKind {
  /** What an error message calls a row of the entity. */
  readonly label: string;
  readonly table: PgTable;
  readonly schema: z.ZodObject;
  /** The column of the primary key. */
  readonly id: string;
  /** Columns that together are unique, other than the primary key. */
  readonly unique: readonly string[];
  /** The column by which an error message names a row. */
  readonly name: string;
  readonly secrets: readonly string[];
  /** The column with an upstream address. */
  readonly address?: string;
  /** Which rows are configuration; absent: all. */
  readonly exported?: SQL;
  /** The row as the file has it; absent: as it is stored. */
  readonly asExported?: (row: BackupRow) => BackupRow;
  readonly refers?: { readonly column: string; readonly to: PgColumn; readonly what: string };
  /** Columns that are not in the file and that the update of a row sets. */
  readonly onUpdate?: Readonly<Record<string, ReturnType<typeof sql>>>;
  /**
   * The kind of hot copy that a row outdates, and the columns that name its copies; `model_id`: the copy of the model with
   * this id.
   */
  readonly outdates: { readonly kind: RevItem["kind"] | "model_id"; readonly columns: readonly string[] };
}

/**
 * Keeps a value unless the address changes: another address is another upstream, so the known health says nothing of it
 * (docs/rules/models.md#endpoints).
 */
const unlessMoved = (column: PgColumn, fresh: ReturnType<typeof sql>): ReturnType<typeof sql> =>
  sql`CASE WHEN excluded.api_base = ${modelEndpoints.api_base} THEN ${column} ELSE ${fresh} END`;

export const ENTITIES: Readonly<Record<BackupEntity, EntityKind>> = {
  fairshare_groups: {
    label: "fairshare group",
    table: fairshareGroups,
    schema: backupGroupSchema,
    id: "name",
    unique: [],
    name: "name",
    secrets: [],
    outdates: { kind: "group", columns: ["name"] },
  },
  tenants: {
    label: "tenant",
    table: tenants,
    schema: backupTenantSchema,
    id: "id",
    unique: ["name"],
    name: "name",
    secrets: [],
    exported: isOfAdmins(tenants.id),
    refers: { column: "fairshare_group", to: fairshareGroups.name, what: "fairshare group" },
    outdates: { kind: "tenant", columns: ["id"] },
  },
  api_keys: {
    label: "api key",
    table: apiKeys,
    schema: backupKeySchema,
    id: "id",
    unique: ["key_hash"],
    name: "key_prefix",
    secrets: [],
    exported: isKeyOfPeople(apiKeys.id, apiKeys.tenant_id),
    refers: { column: "tenant_id", to: tenants.id, what: "tenant" },
    outdates: { kind: "key", columns: ["key_hash", "previous_key_hash"] },
  },
  models: {
    label: "model",
    table: models,
    schema: backupModelSchema,
    id: "id",
    unique: ["model_name"],
    name: "model_name",
    secrets: ["api_key"],
    address: "api_base",
    outdates: { kind: "model", columns: ["model_name"] },
  },
  model_endpoints: {
    label: "model endpoint",
    table: modelEndpoints,
    schema: backupEndpointSchema,
    id: "id",
    unique: ["model_id", "name"],
    name: "name",
    secrets: ["api_key"],
    address: "api_base",
    // a replica's endpoint comes and goes with its job: restored, it would lead nowhere
    exported: sql`NOT EXISTS (SELECT 1 FROM model_replicas r WHERE r.endpoint_id = ${modelEndpoints.id})`,
    refers: { column: "model_id", to: models.id, what: "model" },
    onUpdate: {
      health_status: unlessMoved(modelEndpoints.health_status, sql`'unknown'`),
      consecutive_failures: unlessMoved(modelEndpoints.consecutive_failures, sql`0`),
      alert_state: unlessMoved(modelEndpoints.alert_state, sql`'ok'`),
      failing_since: unlessMoved(modelEndpoints.failing_since, sql`null`),
      next_check_at: unlessMoved(modelEndpoints.next_check_at, sql`now()`),
    },
    outdates: { kind: "model_id", columns: ["model_id"] },
  },
  mcp_servers: {
    label: "mcp server",
    table: mcpServers,
    schema: backupMcpServerSchema,
    id: "id",
    unique: ["name"],
    name: "name",
    secrets: ["auth_header"],
    address: "upstream_url",
    outdates: { kind: "mcp", columns: ["name"] },
  },
  app_settings: {
    label: "setting",
    table: appSettings,
    schema: backupSettingSchema,
    id: "key",
    unique: [],
    name: "key",
    secrets: [],
    // an earlier version restored any name, and this one restores none that it does not know
    exported: inArray(
      appSettings.key,
      SETTINGS.map(({ name }) => name),
    ),
    // nor a value that the setting cannot have
    asExported: ({ key, value }) => ({ key, value: fittingFields(String(key), value) }),
    outdates: { kind: "settings", columns: ["key"] },
  },
};

/** The column of a table by its name. Throws for a name that the table does not have. */
export function columnOf(table: PgTable, name: string): PgColumn {
  const column = getTableColumns(table)[name];
  if (column === undefined) throw new Error(`no column ${name}`);
  return column;
}
