/**
 * Restores a backup file: a merge, whole or not at all (specification "Backup", decisions §13). Everything that can be
 * refused is looked at before the first write, and what only the database can refuse undoes the rest.
 */
import { eq, inArray } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { HOT_SETTINGS } from "../../../shared/records.ts";
import { BACKUP_ENTITIES, type Backup, type BackupEntity, type RestoreReport } from "../../../shared/schema/backup.ts";
import { checkAddresses, readBackup } from "../../backup/checks.ts";
import { type BackupRow, ENTITIES } from "../../backup/entities.ts";
import { judgeEndpointsOfOthers, judgeSecrets } from "../../backup/judge-secrets.ts";
import { judgeKeys } from "../../backup/key-check.ts";
import { batches, mergeRows } from "../../backup/merge.ts";
import { sealRow, sealSetting, secretsOf } from "../../backup/secrets.ts";
import type { Transaction } from "../../db/connect.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { models } from "../../db/schema/models.ts";
import type { VerbContext, Written } from "../context.ts";
import { forgettingMoved } from "../health/moved-models.ts";
import { type Journal, write } from "../write.ts";

const PEPPER_WARNING =
  "api key pepper differs from the backup; restored keys will not authenticate until it matches or keys are rotated";

/** The report. Throws 400 `backup_format`, `backup_key_*`, `address_blocked`, `validation_failed`; 409 `already_exists`. */
export async function restoreBackup(ctx: VerbContext, input: unknown): Promise<Written<RestoreReport>> {
  const { data: given, ...head } = readBackup(input);
  const verdict = await judgeKeys(head.encryption, secretsOf(given), ctx.sealKey);
  if (verdict !== "readable") throw new GatewayError(verdict);
  await checkAddresses(ctx, given);
  const judged = await judgeSecrets(ctx, given);
  const peppersDiffer = head.encryption.api_key_pepper_set !== (ctx.pepper !== undefined);
  const pepper = peppersDiffer && given.api_keys.length > 0 ? [PEPPER_WARNING] : [];
  return await write(ctx, async (tx, journal) => {
    const warnings = [...pepper, ...judged.warnings];
    const model_endpoints = (await judgeEndpointsOfOthers(tx, judged, warnings)) as Backup["data"]["model_endpoints"];
    const data = { ...judged.data, model_endpoints };
    const counts = {} as Record<BackupEntity, { inserted: number; updated: number }>;
    for (const entity of BACKUP_ENTITIES) counts[entity] = await restoreEntity(ctx, tx, journal, entity, data);
    await touchModelsOfEndpoints(tx, journal);
    journal.checkIsDue = true;
    journal.everything(
      data.fairshare_groups.map((group) => group.name),
      data.tenants.map((tenant) => tenant.id),
    );
    const report = {
      ...counts,
      warnings,
      source_exported_at: head.exported_at,
      source_gateway_version: head.gateway_version,
    };
    journal.audit({ action: "restore_backup", entityType: "gateway", entityId: "backup", detail: report });
    return report;
  });
}

async function restoreEntity(
  ctx: VerbContext,
  tx: Transaction,
  journal: Journal,
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
    entity === "models" ? await forgettingMoved(tx, ids, ctx.now(), merge) : await merge();
  outdate(
    journal,
    outdates.kind,
    renamed.map((row) => String(row[outdates.column])),
  );
  if (outdates.kind !== "key")
    outdate(
      journal,
      outdates.kind,
      rows.map((row) => String(row[outdates.column])),
    );
  if (entity === "model_endpoints")
    await touchModels(
      tx,
      journal,
      renamed.map((row) => String(row["model_id"])),
    );
  return { inserted, updated };
}

/** Keys, tenants and groups are outdated all at once in the end; of keys only the copies under their old hashes are named. */
function outdate(
  journal: Journal,
  kind: (typeof ENTITIES)[BackupEntity]["outdates"]["kind"],
  ids: readonly string[],
): void {
  for (const id of new Set(ids)) {
    if (kind === "key") journal.key(id);
    else if (kind === "model") journal.model(id);
    else if (kind === "mcp") journal.mcpServer(id);
    else if (kind === "settings" && HOT_SETTINGS.some((name) => name === id)) journal.settings(id);
  }
}

/** A model's copy holds its endpoints, also where the model itself is not in the file. */
async function touchModelsOfEndpoints(tx: Transaction, journal: Journal): Promise<void> {
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

async function touchModels(tx: Transaction, journal: Journal, ids: readonly string[]): Promise<void> {
  for (const batch of batches([...new Set(ids)])) {
    const touched = await tx
      .update(models)
      .set({ rev: journal.rev })
      .where(inArray(models.id, [...batch]))
      .returning({ name: models.model_name });
    for (const { name } of touched) journal.model(name);
  }
}
