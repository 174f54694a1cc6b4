/** The credentials of a backup: the columns that the table of entities lists, and texts within settings. */

import { isSealed, isSealedWithOld, type SealKey, seal, unseal } from "../../shared/crypto/seal.ts";
import { BACKUP_ENTITIES, type Backup } from "../../shared/schema/backup.ts";
import { SETTINGS } from "../kernel/settings/definitions.ts";
import { fieldsLike } from "../kernel/settings/setting.ts";
import { type BackupRow, ENTITIES } from "./backup-entities.ts";

/** Every stored credential, sealed or plain, and every sealed text of a setting. */
export function secretsOf(data: Backup["data"]): readonly string[] {
  const found: string[] = [];
  for (const entity of BACKUP_ENTITIES) {
    for (const row of data[entity] as readonly BackupRow[]) {
      for (const column of ENTITIES[entity].secrets) {
        const value = row[column];
        if (typeof value === "string") found.push(value);
      }
    }
  }
  for (const { value } of data.app_settings) collectSealed(value, found);
  return found;
}

/** The row with its credentials sealed with the current key that are plain or sealed with an old one; unchanged without a key. */
export async function sealRow(
  row: BackupRow,
  columns: readonly string[],
  key: SealKey | undefined,
): Promise<BackupRow> {
  const sealed: Record<string, unknown> = { ...row };
  for (const column of columns) sealed[column] = await sealValue(row[column], key);
  return sealed;
}

/** A setting with its credentials sealed, as those of a row are. */
export async function sealSetting(row: BackupRow, key: SealKey | undefined): Promise<BackupRow> {
  let value = row["value"];
  const setting = SETTINGS.find(({ name }) => name === row["key"]);
  for (const field of fieldsLike(setting?.sealed ?? [], Object(value) as object))
    value = await sealAt(value, field.split("."), key);
  return { ...row, value };
}

/** The text at a dotted path of a value; null when there is none. */
export function textAt(value: unknown, field: string): string | null {
  const found = field
    .split(".")
    .reduce<unknown>((at, step) => (at as Readonly<Record<string, unknown>> | null | undefined)?.[step], value);
  return typeof found === "string" ? found : null;
}

/** The value with null at a dotted path that it has. */
export function withoutText(value: unknown, field: string): unknown {
  const [step = "", ...rest] = field.split(".");
  const fields = value as Readonly<Record<string, unknown>>;
  return { ...fields, [step]: rest.length === 0 ? null : withoutText(fields[step], rest.join(".")) };
}

/** True for a credential that is plain or sealed with an old key. */
async function needsSealing(value: unknown, key: SealKey): Promise<boolean> {
  if (typeof value !== "string" || value === "") return false;
  return !isSealed(value) || (await isSealedWithOld(value, key));
}

async function sealAt(value: unknown, path: readonly string[], key: SealKey | undefined): Promise<unknown> {
  const [step, ...rest] = path;
  if (step === undefined) return await sealValue(value, key);
  if (typeof value !== "object" || value === null || !(step in value)) return value;
  return { ...value, [step]: await sealAt((value as Record<string, unknown>)[step], rest, key) };
}

async function sealValue(value: unknown, key: SealKey | undefined): Promise<unknown> {
  return typeof value === "string" && key !== undefined && (await needsSealing(value, key))
    ? await seal(await unseal(value, key), key)
    : value;
}

function collectSealed(value: unknown, into: string[]): void {
  if (typeof value === "string" && isSealed(value)) into.push(value);
  else if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) collectSealed(inner, into);
}
