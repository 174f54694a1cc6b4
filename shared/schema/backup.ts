/**
 * The backup file (docs/rules/backup.md#file): rows and secrets in their stored form. Reading is as strict as the Management
 * API, so that a restored row is one that the API could have written. Columns that an older file lacks get their defaults.
 */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";
import { storedKey } from "./api-key.ts";
import { flag, freeText, oneOf, optionalName, timestamp, whenValid } from "./common.ts";
import { storedGroup } from "./fairshare.ts";
import { isIdentityKeyHash } from "./identity.ts";
import { storedMcpServer } from "./mcp-server.ts";
import { cacheTtlRule, isCacheTtlRight, storedModel } from "./model.ts";
import { storedEndpoint } from "./model-endpoint.ts";
import { storedTenant } from "./tenant.ts";

export const BACKUP_FORMAT = "gateway-config-backup";
export const BACKUP_VERSION = 1;

export const backupGroupSchema = z.object(storedGroup);
export const backupTenantSchema = z.object(storedTenant);
export const backupKeySchema = z
  .object(storedKey)
  .refine(({ disabled, disabled_by }) => disabled || disabled_by === null, {
    path: ["disabled_by"],
    message: "must be null while disabled is false",
    when: whenValid("disabled", "disabled_by"),
  })
  .refine(isKeyNameRight, {
    path: ["name"],
    message: "must be one line of visible characters in Unicode normalization form C",
    when: whenValid("name", "key_hash"),
  });
export const backupModelSchema = z.object(storedModel).refine(isCacheTtlRight, cacheTtlRule);
export const backupEndpointSchema = z.object(storedEndpoint);
export const backupMcpServerSchema = z.object(storedMcpServer);

export const backupSettingSchema = z.object({
  key: z.string({ error: "must be a string" }).regex(/^[a-z_]{1,100}$/, "must be the name of a setting"),
  value: z.record(z.string(), z.unknown(), { error: "must be an object" }),
});

/** The key of a token's subject has a name that its provider chose: the first version only made it one line. */
function isKeyNameRight({ name, key_hash }: { readonly name: string; readonly key_hash: string }): boolean {
  return isIdentityKeyHash(key_hash) ? !/\p{Cc}/u.test(name) : optionalName.safeParse(name).success;
}

/** An HMAC-SHA-256. */
const mac = z.string({ error: "must be a string" }).regex(/^[0-9a-f]{64}$/, "must be 64 hex digits");

/**
 * Proof that a sealed secret belongs to its entry and to the address beside it
 * (docs/rules/backup.md#secrets-belong-to-entries).
 */
const backupMacSchema = z.object({
  entity: z.string({ error: "must be a string" }).max(100, "must be at most 100 characters"),
  /** The primary key of the row. */
  id: z.string({ error: "must be a string" }).max(200, "must be at most 200 characters"),
  /** The dotted path of the secret within the row. */
  field: z.string({ error: "must be a string" }).max(200, "must be at most 200 characters"),
  mac,
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
      /** A known text, sealed with the exporting gateway's key. */
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
      /** Absent in files of older versions and in files that other programs made. */
      macs: z.array(backupMacSchema, { error: "must be a list" }).optional(),
    }),
    /** Proof that everything above is as it was exported; absent without an encryption key and in files of older versions. */
    mac: mac.optional(),
  })
  .meta({ id: "Backup" });
export type Backup = z.infer<typeof backupSchema>;
export type BackupEntity = Exclude<keyof Backup["data"], "macs">;

/** In an order in which a row only refers to earlier entities. */
export const BACKUP_ENTITIES = [
  "fairshare_groups",
  "tenants",
  "api_keys",
  "models",
  "model_endpoints",
  "mcp_servers",
  "app_settings",
] as const satisfies readonly BackupEntity[];

/**
 * How many rows of the file were new here, and how many had a primary key that existed. The latter are written whether or
 * not they differ.
 */
const countsSchema = z.object({ inserted: z.number().int(), updated: z.number().int() });

/** POST /backup/restore: `dry_run=true` changes nothing and says what would change. */
export const restoreQuerySchema = z.object({ dry_run: oneOf(["true", "false"]).optional() });

/** What a restore would do to the objects of one kind. */
const differenceSchema = z.object({
  added: z.number().int(),
  changed: z.number().int(),
  unchanged: z.number().int(),
  only_here: z
    .number()
    .int()
    .meta({ description: "Objects that are not in the file. A restore leaves them unchanged" }),
  /** Added and changed ones, at most 200. */
  objects: z.array(
    z.object({
      name: z.string(),
      change: z.enum(["added", "changed"]),
      fields: z
        .record(z.string(), z.unknown())
        .meta({ description: "Per field: `[old, new]`, or `changed` for a secret" }),
    }),
  ),
});
export type RestoreDifference = z.infer<typeof differenceSchema>;

const differencesSchema = z.object({
  fairshare_groups: differenceSchema,
  tenants: differenceSchema,
  api_keys: differenceSchema,
  models: differenceSchema,
  model_endpoints: differenceSchema,
  mcp_servers: differenceSchema,
  app_settings: differenceSchema,
});
export type RestoreDifferences = z.infer<typeof differencesSchema>;

/** POST /backup/restore: the result for each entity of the file. No row is ever deleted. */
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
    source_exported_at: shownTime,
    source_gateway_version: z.string(),
    /** Of a dry run alone. */
    differences: differencesSchema.optional(),
  })
  .meta({ id: "RestoreReport" });
export type RestoreReport = z.infer<typeof restoreReportSchema>;
