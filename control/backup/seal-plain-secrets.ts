/**
 * Seals stored credentials with the current encryption key: at the start those that were stored without a key, and as a job those
 * that are sealed with an old key (docs/rules/secrets.md#at-rest). No credential changes.
 */
import { eq, inArray, sql } from "drizzle-orm";
import { isSealed, isSealedWithOld, type SealKey } from "../../shared/crypto/seal.ts";
import type { Transaction } from "../db/connect.ts";
import { models } from "../db/schema/models.ts";
import { appSettings } from "../db/schema/settings.ts";
import type { VerbContext } from "../kernel/context.ts";
import { renewSentinel } from "../kernel/encryption/encryption-check.ts";
import { write } from "../kernel/write.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { type BackupRow, columnOf, ENTITIES } from "./backup-entities.ts";
import { sealRow, sealSetting } from "./stored-secrets.ts";

const WITH_SECRETS = ["models", "model_endpoints", "mcp_servers"] as const;

/** Most rows of each table that one transaction of the job seals: other writes wait for it. */
const STEP_ROWS = 100;

type Sealed = Readonly<Record<string, number>>;
/** A credential is sealed in this step if it says so. */
type Chosen = (value: unknown) => boolean | Promise<boolean>;

interface Step {
  readonly journal: WriteJournal;
  readonly entity: (typeof WITH_SECRETS)[number];
  readonly chosen: Chosen;
  /** The most rows. */
  readonly limit: number;
}

/** Seals plain credentials, and leaves what an old key has sealed to the job. How many rows were sealed, by table; empty without a key. Throws what a write throws. */
export async function sealPlainSecrets(ctx: VerbContext): Promise<Sealed> {
  const isPlain = (value: unknown): boolean => typeof value === "string" && value !== "" && !isSealed(value);
  if (ctx.sealKey === undefined) return {};
  return await sealChosen({ ...ctx, sealKey: { ...ctx.sealKey, old: [] } }, isPlain, Number.POSITIVE_INFINITY);
}

/** Seals with the current key what an old key sealed, in steps. Throws what a write throws. */
export async function resealSecrets(ctx: VerbContext): Promise<{ readonly resealed: number }> {
  const { sealKey } = ctx;
  let resealed = 0;
  if (sealKey === undefined || sealKey.old.length === 0) return { resealed };
  for (let left = await countSealedWithOld(ctx, sealKey); left > 0; ) {
    const step = Object.values(await sealChosen(ctx, async (value) => await isOld(value, sealKey), STEP_ROWS));
    left = step.length;
    for (const rows of step) resealed += rows;
  }
  await renewSentinel(ctx.db, sealKey);
  return { resealed };
}

/** How many rows have a secret that is sealed with an old key. */
export async function countSealedWithOld({ db }: Pick<VerbContext, "db">, key: SealKey): Promise<number> {
  let count = 0;
  for (const entity of WITH_SECRETS) {
    const rows = (await db.select().from(ENTITIES[entity].table)) as readonly BackupRow[];
    for (const row of rows)
      if (await hasChosen(row, ENTITIES[entity].secrets, async (value) => await isOld(value, key))) count += 1;
  }
  for (const row of await db.select().from(appSettings))
    if (JSON.stringify((await sealSetting(row, key))["value"]) !== JSON.stringify(row.value)) count += 1;
  return count;
}

async function isOld(value: unknown, key: SealKey): Promise<boolean> {
  return typeof value === "string" && (await isSealedWithOld(value, key));
}

async function hasChosen(row: BackupRow, columns: readonly string[], chosen: Chosen): Promise<boolean> {
  for (const column of columns) if (await chosen(row[column])) return true;
  return false;
}

async function sealChosen(ctx: VerbContext, chosen: Chosen, limit: number): Promise<Sealed> {
  const { record } = await write(ctx, async (tx, journal) => {
    const sealed: Record<string, number> = {};
    for (const entity of WITH_SECRETS) {
      const rows = await sealRows(ctx, tx, { journal, entity, chosen, limit });
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
  { journal, entity, chosen, limit }: Step,
): Promise<readonly BackupRow[]> {
  const { table, id, secrets } = ENTITIES[entity];
  const found: BackupRow[] = [];
  for (const row of (await tx.select().from(table)) as readonly BackupRow[]) {
    if (found.length >= limit) break;
    if (await hasChosen(row, secrets, chosen)) found.push(row);
  }
  for (const row of found) {
    const sealed = await sealRow(row, secrets, ctx.sealKey);
    const columns = secrets.map((column) => sql`${sql.identifier(column)} = ${sealed[column]}`);
    await tx.execute(
      sql`UPDATE ${table} SET ${sql.join(columns, sql`, `)}, rev = ${journal.rev} WHERE ${columnOf(table, id)} = ${row[id]}`,
    );
  }
  return found;
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
