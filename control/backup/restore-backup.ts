/**
 * Restores a backup file: a merge of the whole file, or nothing (docs/rules/backup.md#restore). What can be checked is
 * checked before the first write; when the database refuses a row, the transaction undoes the rest.
 */
import { eq, inArray } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { GatewayError } from "../../shared/errors.ts";
import { HOT_SETTINGS } from "../../shared/records.ts";
import {
  BACKUP_ENTITIES,
  type Backup,
  type BackupEntity,
  type RestoreReport,
  restoreQuerySchema,
} from "../../shared/schema/backup.ts";
import type { Transaction } from "../db/connect.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { models } from "../db/schema/models.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import { resetHealthOfMoved } from "../health/forget-moved-models.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse, refuseIfAny } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { refuseFallbackCycle } from "../models/fallback-cycle.ts";
import { type BackupRow, ENTITIES } from "./backup-entities.ts";
import { checkAddresses, readBackup } from "./checks.ts";
import { compareRows, storedRows } from "./compare-rows.ts";
import { fileWarnings } from "./file-warnings.ts";
import { checkBackupKey } from "./key-check.ts";
import { inBatches, mergeRows } from "./merge.ts";
import { giveWay, withoutOwnTenant } from "./own-tenant-rows.ts";
import { sealRow, sealSetting, secretsOf } from "./stored-secrets.ts";
import { verifyContent, verifyEndpointsOfOthers, verifySecrets } from "./verify-secrets.ts";

const PEPPER_WARNING =
  "api key pepper differs from the backup; restored keys will not authenticate until it matches or keys are rotated";

/** Ends the transaction of a dry run, so that nothing of it stays. */
class DryRunEnded extends Error {
  override readonly name = "DryRunEnded";
  readonly report: RestoreReport;

  constructor(report: RestoreReport) {
    super("rolled back");
    this.report = report;
  }
}

/**
 * The report; with `dry_run=true` in the query also what each object would become, and nothing is changed
 * (docs/rules/backup.md#dry-run). `version`: of this gateway, if a row of the same version must be whole. Throws 400 `backup_format`, `backup_key_*`, `address_blocked`, `validation_failed`; 409
 * `already_exists`.
 */
export async function restoreBackup(
  ctx: VerbContext,
  input: unknown,
  query: object = {},
  version?: string,
): Promise<Written<RestoreReport>> {
  const isDryRun = dryRunOf(query);
  const { data: read, ...head } = readBackup(input);
  const { data: given, warnings: left } = withoutOwnTenant(read);
  const verdict = await checkBackupKey(head.encryption, secretsOf(given), ctx.sealKey);
  if (verdict !== "readable") throw new GatewayError(verdict);
  await checkAddresses(ctx, given);
  const verified = await verifySecrets(ctx, given);
  const unproven = await verifyContent(ctx, input as object);
  const odd = fileWarnings({ ...head, data: given }, (input as Backup).data, version);
  const peppersDiffer = head.encryption.api_key_pepper_set !== (ctx.pepper !== undefined);
  const pepper = peppersDiffer && given.api_keys.length > 0 ? [PEPPER_WARNING] : [];
  const restore = async (tx: Transaction, journal: WriteJournal): Promise<RestoreReport> => {
    const warnings = [...unproven, ...left, ...pepper, ...odd, ...verified.warnings];
    const model_endpoints = (await verifyEndpointsOfOthers(
      tx,
      verified,
      warnings,
    )) as Backup["data"]["model_endpoints"];
    const data = { ...verified.data, model_endpoints };
    warnings.push(...(await giveWay(ctx, tx, journal, data.tenants)));
    await refuseMovedKeys(tx, data.api_keys);
    const before = isDryRun ? await storedRows(tx, data) : null;
    const counts = {} as Record<BackupEntity, { inserted: number; updated: number }>;
    for (const entity of BACKUP_ENTITIES) counts[entity] = await restoreEntity(ctx, tx, journal, entity, data);
    await refuseFallbackCycle(
      tx,
      data.models.map((model, at) => ({ ...model, path: `data.models.${at}.fallback_models` })),
    );
    await refuseSharedHashes(tx, data.api_keys);
    const differences =
      before === null ? undefined : await compareRows(tx, before, await storedRows(tx, data), ctx.sealKey);
    await touchModelsOfEndpoints(tx, journal);
    journal.checkIsDue = true;
    journal.everythingChanged(
      data.fairshare_groups.map((group) => group.name),
      data.tenants.map((tenant) => tenant.id),
    );
    const report = {
      ...counts,
      warnings,
      source_exported_at: head.exported_at,
      source_gateway_version: head.gateway_version,
    };
    if (differences !== undefined) throw new DryRunEnded({ ...report, differences });
    journal.audit({ action: "restore_backup", entityType: "gateway", entityId: "backup", detail: report });
    return report;
  };
  try {
    return await write(ctx, restore);
  } catch (error) {
    if (error instanceof DryRunEnded) return { record: error.report, sync: "done" };
    throw error;
  }
}

/** The people of the other tenant would read what the key was used for. Throws 400. */
async function refuseMovedKeys(tx: Transaction, given: Backup["data"]["api_keys"]): Promise<void> {
  const owners = new Map<string, string>();
  for (const batch of inBatches(given.map(({ id }) => id))) {
    const { id, tenant_id } = apiKeys;
    const stored = await tx
      .select({ id, tenant_id })
      .from(apiKeys)
      .where(inArray(id, [...batch]));
    for (const key of stored) owners.set(key.id, key.tenant_id);
  }
  refuseIfAny(
    given.flatMap(({ id, tenant_id }, at) => {
      const owner = owners.get(id.toLowerCase());
      const path = `data.api_keys.${at}.tenant_id`;
      return owner === undefined || owner === tenant_id.toLowerCase()
        ? []
        : [{ path, message: "belongs here to another tenant, and a key never moves" }];
    }),
  );
}

/** A replaced secret that is also the one of a key would open the other key once that one ends. Throws 400. */
async function refuseSharedHashes(tx: Transaction, given: Backup["data"]["api_keys"]): Promise<void> {
  const other = alias(apiKeys, "other");
  const shared = await tx
    .select({ id: apiKeys.id, other: other.id })
    .from(apiKeys)
    .innerJoin(other, eq(apiKeys.previous_key_hash, other.key_hash));
  const places = new Map(given.map(({ id }, at) => [id, at]));
  refuseIfAny(
    shared.flatMap((one) => {
      const at = places.get(one.id) ?? places.get(one.other);
      const column = places.has(one.id) ? "previous_key_hash" : "key_hash";
      const path = `data.api_keys.${at}.${column}`;
      return at === undefined ? [] : [{ path, message: "is the hash of another secret" }];
    }),
  );
}

/** Throws 400 for a name that is not known as well: with a misspelt one somebody would restore who meant to look first. */
function dryRunOf(query: object): boolean {
  const unknown = Object.keys(query).filter((name) => !Object.hasOwn(restoreQuerySchema.shape, name));
  refuseIfAny(unknown.map((path) => ({ path, message: "is not a parameter of this route; it takes dry_run" })));
  return parse(restoreQuerySchema, query).dry_run === "true";
}

async function restoreEntity(
  ctx: VerbContext,
  tx: Transaction,
  journal: WriteJournal,
  entity: BackupEntity,
  data: Backup["data"],
): Promise<{ inserted: number; updated: number }> {
  const { secrets, outdates } = ENTITIES[entity];
  const seal = async (row: BackupRow): Promise<BackupRow> =>
    entity === "app_settings" ? await sealSetting(row, ctx.sealKey) : await sealRow(row, secrets, ctx.sealKey);
  const given = data[entity] as readonly BackupRow[];
  const rows = secrets.length === 0 && entity !== "app_settings" ? given : await Promise.all(given.map(seal));
  const merge = async (): ReturnType<typeof mergeRows> => await mergeRows(tx, entity, rows, journal.rev, ctx.now());
  const ids = rows.map((row) => String(row["id"]));
  const { inserted, updated, renamed } =
    entity === "models" ? await resetHealthOfMoved(tx, ids, ctx.now(), merge) : await merge();
  outdate(journal, outdates, renamed);
  if (outdates.kind !== "key") outdate(journal, outdates, rows);
  if (entity === "model_endpoints")
    await touchModels(
      tx,
      journal,
      renamed.map((row) => String(row["model_id"])),
    );
  return { inserted, updated };
}

/**
 * Names the outdated copies. Keys, tenants and groups are all outdated at the end, so that of keys only the copies under
 * old hashes are named here.
 */
function outdate(
  journal: WriteJournal,
  { kind, columns }: (typeof ENTITIES)[BackupEntity]["outdates"],
  rows: readonly BackupRow[],
): void {
  const ids = rows.flatMap((row) => columns.map((column) => row[column])).filter((id) => id != null);
  for (const id of new Set(ids.map(String))) {
    if (kind === "key") journal.secretChanged(id);
    else if (kind === "model") journal.modelChanged(id);
    else if (kind === "mcp") journal.mcpServerChanged(id);
    else if (kind === "settings" && HOT_SETTINGS.some((name) => name === id)) journal.settingChanged(id);
  }
}

/**
 * Publishes the models whose endpoints are restored, because a model's copy contains its endpoints. The model itself need
 * not be in the file.
 */
async function touchModelsOfEndpoints(tx: Transaction, journal: WriteJournal): Promise<void> {
  const rows = await tx
    .selectDistinct({ id: modelEndpoints.model_id })
    .from(modelEndpoints)
    .where(eq(modelEndpoints.rev, journal.rev));
  await touchModels(
    tx,
    journal,
    rows.map((row) => row.id),
  );
}

async function touchModels(tx: Transaction, journal: WriteJournal, ids: readonly string[]): Promise<void> {
  for (const batch of inBatches([...new Set(ids)])) {
    const touched = await tx
      .update(models)
      .set({ rev: journal.rev })
      .where(inArray(models.id, [...batch]))
      .returning({ name: models.model_name });
    for (const { name } of touched) journal.modelChanged(name);
  }
}
