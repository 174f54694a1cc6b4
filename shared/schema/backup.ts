/**
 * The backup file (specification "Backup", decisions §13): rows as they are stored, secrets as they are stored. Reading is
 * as strict as the Management API, so that a restored row is one that the API could have written; unknown fields are
 * ignored and columns that an older file lacks get their defaults.
 */
import * as z from "zod";
import {
  amount,
  BUDGET_PERIODS,
  descriptionField,
  flag,
  freeText,
  knownName,
  oneOf,
  requiredText,
  timestamp,
  timezone,
  whole,
} from "./common.ts";
import { mcpServerName } from "./mcp-server.ts";
import { cacheTtlRule, isCacheTtlRight, modelFields } from "./model.ts";
import { TENANT_STATUSES, weeklyWindow } from "./tenant.ts";
import { compressionPolicyBody, guardrailsPolicyBody } from "./tenant-policy.ts";
import { apiBase, refuseNoUrl } from "./upstream.ts";

export const BACKUP_FORMAT = "gateway-config-backup";
export const BACKUP_VERSION = 1;

const uuid = z
  .string({ error: "must be a UUID" })
  .toLowerCase()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, "must be a UUID");

const times = { created_at: timestamp, updated_at: timestamp };

const budget = {
  budget_tokens: whole(0).nullable().default(null),
  budget_cost_usd: amount.nullable().default(null),
  budget_period: oneOf(BUDGET_PERIODS).nullable().default(null),
  budget_started_at: timestamp.nullable().default(null),
};

/** A credential as it is stored: sealed or plain. */
const storedSecret = z
  .string({ error: "must be a text or null" })
  .max(8000, "must be at most 8000 characters")
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII")
  .nullable()
  .default(null);

export const backupGroupSchema = z.object({
  name: knownName,
  weight: whole(1, 1_000_000),
  created_at: timestamp,
});

export const backupTenantSchema = z.object({
  id: uuid,
  name: knownName,
  description: descriptionField.default(""),
  organization: freeText(200).default(""),
  contact: freeText(320).default(""),
  status: oneOf(TENANT_STATUSES).default("active"),
  timezone: timezone.default("UTC"),
  fairshare_group: knownName.default("default"),
  weight: whole(1, 1_000_000).default(100),
  tokens_per_minute: whole(0).default(0),
  max_in_flight: whole(1).nullable().default(null),
  active_from: timestamp.nullable().default(null),
  active_until: timestamp.nullable().default(null),
  weekly_windows: z.array(weeklyWindow).max(100, "must have at most 100 windows").default([]),
  ...budget,
  allowed_models: z.array(freeText(200)).nullable().default(null),
  guardrails_policy: guardrailsPolicyBody.nullable().default(null),
  compression_policy: compressionPolicyBody.nullable().default(null),
  tracing_enabled: flag.default(false),
  synthetic: flag.default(false),
  ...times,
});

export const backupKeySchema = z.object({
  id: uuid,
  tenant_id: uuid,
  name: freeText(200).default(""),
  description: descriptionField.default(""),
  key_prefix: freeText(18),
  key_hash: z.string({ error: "must be a text" }).regex(/^[\x21-\x7e]{1,200}$/, "must be the hash of a key"),
  disabled: flag.default(false),
  tracing_enabled: flag.default(false),
  ...budget,
  ...times,
});

export const backupModelSchema = z
  .object({
    ...modelFields,
    capacity_tuned_at: timestamp.nullable(),
    health_checks_enabled: flag,
    health_alerts_enabled: flag,
    health_check_interval_secs: whole(60),
    health_failure_threshold: whole(1),
    health_maintenance_until: timestamp.nullable(),
    health_maintenance_note: freeText(2000).nullable(),
  })
  .partial()
  .extend({
    id: uuid,
    model_name: requiredText(200).refine((name) => name !== "auto", "auto is reserved"),
    upstream_model: requiredText(300),
    api_base: apiBase.default(""),
    api_key: storedSecret,
    ...times,
  })
  .refine(isCacheTtlRight, cacheTtlRule);

export const backupEndpointSchema = z.object({
  id: uuid,
  model_id: uuid,
  name: knownName,
  api_base: apiBase.refine((text) => text !== "", "must not be blank"),
  api_key: storedSecret,
  priority: whole(0).default(100),
  weight: whole(1).default(100),
  enabled: flag.default(true),
  ...times,
});

export const backupMcpServerSchema = z.object({
  id: uuid,
  name: mcpServerName,
  upstream_url: requiredText(2000).superRefine(refuseNoUrl),
  auth_header: storedSecret,
  enabled: flag.default(true),
  ...times,
});

export const backupSettingSchema = z.object({
  key: z.string({ error: "must be a text" }).regex(/^[a-z_]{1,100}$/, "must be the name of a setting"),
  value: z.record(z.string(), z.unknown(), { error: "must be an object" }),
});

/** That a sealed secret belongs to its entry and to the address beside it (decisions §43.5). */
const backupMacSchema = z.object({
  entity: z.string({ error: "must be a text" }).max(100, "must be at most 100 characters"),
  /** Primary key of the row. */
  id: z.string({ error: "must be a text" }).max(200, "must be at most 200 characters"),
  /** Of the secret within the row, dotted. */
  field: z.string({ error: "must be a text" }).max(200, "must be at most 200 characters"),
  /** HMAC-SHA-256 in hex. */
  mac: z.string({ error: "must be a text" }).regex(/^[0-9a-f]{64}$/, "must be 64 hex digits"),
});
export type BackupMac = z.infer<typeof backupMacSchema>;

const listOf = <T extends z.ZodType>(row: T) => z.array(row, { error: "must be a list" }).default([]);

export const backupSchema = z
  .object({
    format: z.literal(BACKUP_FORMAT),
    version: z.literal(BACKUP_VERSION),
    exported_at: timestamp,
    gateway_version: freeText(100),
    encryption: z.object({
      /** True when the exporting gateway had an encryption key. */
      cipher_enabled: flag,
      /** A known text, sealed with that key. */
      key_check: z.string().nullable(),
      api_key_pepper_set: flag,
    }),
    data: z.object({
      fairshare_groups: listOf(backupGroupSchema),
      tenants: listOf(backupTenantSchema),
      api_keys: listOf(backupKeySchema),
      models: listOf(backupModelSchema),
      model_endpoints: listOf(backupEndpointSchema),
      mcp_servers: listOf(backupMcpServerSchema),
      app_settings: listOf(backupSettingSchema),
      /** Absent in files of older versions and of others. */
      macs: z.array(backupMacSchema, { error: "must be a list" }).optional(),
    }),
  })
  .meta({ id: "Backup" });
export type Backup = z.infer<typeof backupSchema>;
export type BackupEntity = Exclude<keyof Backup["data"], "macs">;

/** In the order in which a row may refer to another. */
export const BACKUP_ENTITIES = [
  "fairshare_groups",
  "tenants",
  "api_keys",
  "models",
  "model_endpoints",
  "mcp_servers",
  "app_settings",
] as const satisfies readonly BackupEntity[];

/** Rows of the file that were not here, and those whose primary key was: they are written, whether or not they differed. */
const countsSchema = z.object({ inserted: z.number().int(), updated: z.number().int() });

/** POST /backup/restore: what became of the file's entities. Nothing is ever deleted. */
export const restoreReportSchema = z
  .object({
    fairshare_groups: countsSchema,
    tenants: countsSchema,
    api_keys: countsSchema,
    models: countsSchema,
    model_endpoints: countsSchema,
    mcp_servers: countsSchema,
    app_settings: countsSchema,
    warnings: z.array(z.string()),
    source_exported_at: z.string(),
    source_gateway_version: z.string(),
  })
  .meta({ id: "RestoreReport" });
export type RestoreReport = z.infer<typeof restoreReportSchema>;
