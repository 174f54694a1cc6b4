/**
 * What a restore does to the rows of a backup, object by object (docs/rules/backup.md#dry-run): both versions are read from the
 * database, before and after, so that defaults, sealed secrets and what is not restored are as they would really be. Secrets
 * are compared opened, and never shown.
 */
import { count, inArray, type SQL } from "drizzle-orm";
import { isSealed, type SealKey, unseal } from "../../shared/crypto/seal.ts";
import {
  BACKUP_ENTITIES,
  type Backup,
  type BackupEntity,
  type RestoreDifference,
  type RestoreDifferences,
} from "../../shared/schema/backup.ts";
import type { Transaction } from "../db/connect.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import { SETTINGS } from "../kernel/settings/definitions.ts";
import { dottedFields, fieldsLike } from "../kernel/settings/setting.ts";
import { type BackupRow, columnOf, ENTITIES } from "./backup-entities.ts";
import { inBatches } from "./merge.ts";

/** More changed objects of one kind are counted, and not listed. */
const LISTED_MAX = 200;
/** A longer value, as JSON, is cut. */
const VALUE_MAX_CHARACTERS = 300;
/** Stored as hashes, which say nothing to a person. */
const HASHES = ["key_hash", "key_pepper", "previous_key_hash", "previous_key_pepper"];

/** The rows of the file that the database has, by entity and primary key. */
type StoredRows = Readonly<Record<BackupEntity, ReadonlyMap<string, BackupRow>>>;

/** Reads the rows whose primary keys are in the file. */
export async function storedRows(tx: Transaction, data: Backup["data"]): Promise<StoredRows> {
  const stored = {} as Record<BackupEntity, ReadonlyMap<string, BackupRow>>;
  for (const entity of BACKUP_ENTITIES) {
    const { table, schema, id } = ENTITIES[entity];
    const columns = Object.fromEntries(Object.keys(schema.shape).map((name) => [name, columnOf(table, name)]));
    const rows = new Map<string, BackupRow>();
    for (const batch of inBatches(data[entity] as readonly BackupRow[])) {
      const ids = batch.map((row) => row[id]);
      const found: readonly BackupRow[] = await tx
        .select(columns)
        .from(table)
        .where(inArray(columnOf(table, id), ids));
      for (const row of found) rows.set(String(row[id]), row);
    }
    stored[entity] = rows;
  }
  return stored;
}

/** Compares the rows of the file before and after the restore; `key` opens sealed secrets. */
export async function compareRows(
  tx: Transaction,
  before: StoredRows,
  after: StoredRows,
  key: SealKey | undefined,
): Promise<RestoreDifferences> {
  const differences = {} as Record<BackupEntity, RestoreDifference>;
  for (const entity of BACKUP_ENTITIES) {
    const { table, name, exported } = ENTITIES[entity];
    const [all] = await tx
      .select({ rows: count() })
      .from(table)
      .where(exported satisfies SQL | undefined);
    const objects: RestoreDifference["objects"] = [];
    const counts = { added: 0, changed: 0, unchanged: 0 };
    for (const [id, row] of after[entity]) {
      const old = before[entity].get(id);
      const fields = old === undefined ? {} : await fieldChanges(entity, old, row, key);
      const change = old === undefined ? "added" : Object.keys(fields).length > 0 ? "changed" : "unchanged";
      counts[change]++;
      if (change !== "unchanged" && objects.length < LISTED_MAX)
        objects.push({ name: String(row[name]), change, fields });
    }
    const only_here = Math.max(0, (all?.rows ?? 0) - after[entity].size);
    differences[entity] = { ...counts, only_here, objects };
  }
  return differences;
}

/** The fields that differ, as `[old, new]`; of a secret only that it does. */
async function fieldChanges(
  entity: BackupEntity,
  before: BackupRow,
  after: BackupRow,
  key: SealKey | undefined,
): Promise<Record<string, unknown>> {
  const isSetting = entity === "app_settings";
  const [old, fresh] = isSetting ? dottedFields(before["value"] as object, after["value"] as object) : [before, after];
  const setting = isSetting ? SETTINGS.find(({ name }) => name === after["key"]) : undefined;
  const known = isSetting ? fieldsLike(setting?.secrets ?? [], fresh) : ENTITIES[entity].secrets;
  const secrets = new Set([...known, ...HASHES]);
  for (const row of [old, fresh])
    for (const [field, value] of Object.entries(row)) if (isSealedText(value)) secrets.add(field);
  const [shownBefore, shownAfter] = await Promise.all([old, fresh].map(async (row) => await opened(row, key)));
  const { changed } = changedFields(shownBefore ?? {}, shownAfter ?? {}, [...secrets]);
  return Object.fromEntries(
    Object.entries(changed).map(([field, change]) => [field, Array.isArray(change) ? change.map(shortened) : change]),
  );
}

/** The row with its sealed texts opened, so that equal secrets are equal however they were sealed. */
async function opened(row: BackupRow, key: SealKey | undefined): Promise<BackupRow> {
  const entries = Object.entries(row).map(
    async ([field, value]) =>
      [field, isSealedText(value) ? await unseal(value, key).catch(() => value) : value] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

function isSealedText(value: unknown): value is string {
  return typeof value === "string" && isSealed(value);
}

function shortened(value: unknown): unknown {
  const json = JSON.stringify(value);
  return json.length > VALUE_MAX_CHARACTERS ? `${json.slice(0, VALUE_MAX_CHARACTERS)}…` : value;
}
