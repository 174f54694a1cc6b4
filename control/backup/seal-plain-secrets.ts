/**
 * Seals credentials that were stored without an encryption key, when the service starts with one
 * (docs/rules/secrets.md#at-rest). Sealed secrets are not changed, and no credential changes.
 */
import { eq, inArray, sql } from "drizzle-orm";
import { isSealed } from "../../shared/crypto/seal.ts";
import type { Transaction } from "../db/connect.ts";
import { models } from "../db/schema/models.ts";
import { appSettings } from "../db/schema/settings.ts";
import type { VerbContext } from "../kernel/context.ts";
import { write } from "../kernel/write.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { type BackupRow, columnOf, ENTITIES } from "./backup-entities.ts";
import { sealRow, sealSetting } from "./stored-secrets.ts";

const WITH_SECRETS = ["models", "model_endpoints", "mcp_servers"] as const;

/** How many rows were sealed, by table; empty without a key. Throws what a write throws. */
export async function sealPlainSecrets(ctx: VerbContext): Promise<Readonly<Record<string, number>>> {
  if (ctx.sealKey === undefined) return {};
  const { record } = await write(ctx, async (tx, journal) => {
    const sealed: Record<string, number> = {};
    for (const entity of WITH_SECRETS) {
      const rows = await sealRows(ctx, tx, journal, entity);
      if (entity === "models") for (const row of rows) journal.modelChanged(String(row["model_name"]));
      if (entity === "model_endpoints") await touchModels(tx, journal, rows);
      if (entity === "mcp_servers") for (const row of rows) journal.mcpServerChanged(String(row["name"]));
      if (rows.length > 0) sealed[entity] = rows.length;
    }
    const settings = await sealSettings(ctx, tx, journal);
    if (settings > 0) sealed["app_settings"] = settings;
    if (Object.keys(sealed).length > 0)
      journal.audit({ action: "seal_secrets", entityType: "gateway", entityId: "gateway", detail: sealed });
    return sealed;
  });
  return record;
}

async function sealRows(
  ctx: VerbContext,
  tx: Transaction,
  journal: WriteJournal,
  entity: (typeof WITH_SECRETS)[number],
): Promise<readonly BackupRow[]> {
  const { table, id, secrets } = ENTITIES[entity];
  const isPlain = (value: unknown): boolean => typeof value === "string" && value !== "" && !isSealed(value);
  const rows = (await tx.select().from(table)) as readonly BackupRow[];
  const plain = rows.filter((row) => secrets.some((column) => isPlain(row[column])));
  for (const row of plain) {
    const sealed = await sealRow(row, secrets, ctx.sealKey);
    const columns = secrets.map((column) => sql`${sql.identifier(column)} = ${sealed[column]}`);
    await tx.execute(
      sql`UPDATE ${table} SET ${sql.join(columns, sql`, `)}, rev = ${journal.rev} WHERE ${columnOf(table, id)} = ${row[id]}`,
    );
  }
  return plain;
}

/** Marks the hot copies of the endpoints' models as changed: a model's copy contains its endpoints. */
async function touchModels(tx: Transaction, journal: WriteJournal, endpoints: readonly BackupRow[]): Promise<void> {
  if (endpoints.length === 0) return;
  const ids = [...new Set(endpoints.map((row) => String(row["model_id"])))];
  const touched = await tx
    .update(models)
    .set({ rev: journal.rev })
    .where(inArray(models.id, ids))
    .returning({ name: models.model_name });
  for (const { name } of touched) journal.modelChanged(name);
}

async function sealSettings(ctx: VerbContext, tx: Transaction, journal: WriteJournal): Promise<number> {
  let count = 0;
  for (const row of await tx.select().from(appSettings)) {
    const { value } = await sealSetting(row, ctx.sealKey);
    if (JSON.stringify(value) === JSON.stringify(row.value)) continue;
    await tx.update(appSettings).set({ value, rev: journal.rev }).where(eq(appSettings.key, row.key));
    count += 1;
  }
  return count;
}
