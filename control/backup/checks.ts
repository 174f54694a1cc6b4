/**
 * The checks that can refuse a whole backup before anything is written: a file of another kind, a malformed row, a
 * duplicate row, an address that may not be called (docs/rules/backup.md#restore).
 */

import { unseal } from "../../shared/crypto/seal.ts";
import { type ErrorDetail, GatewayError } from "../../shared/errors.ts";
import {
  BACKUP_ENTITIES,
  BACKUP_FORMAT,
  BACKUP_VERSION,
  type Backup,
  type BackupEntity,
  backupSchema,
} from "../../shared/schema/backup.ts";
import { isStorableJson, NOT_STORABLE_JSON } from "../../shared/schema/common.ts";
import { nearestName } from "../../shared/text/nearest-name.ts";
import type { VerbContext } from "../kernel/context.ts";
import { jsonSchemaOf } from "../kernel/json-schema.ts";
import { DETAILS_MAX, errorDetailsOf, fieldError, IN_WORDS, parse, refuseIfAny } from "../kernel/parse.ts";
import { alertsSetting, SETTINGS } from "../kernel/settings/definitions.ts";
import { fieldsLike } from "../kernel/settings/setting.ts";
import { refuseUnknown, unknownFields } from "../kernel/unknown-field.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { type BackupRow, ENTITIES } from "./backup-entities.ts";
import { checkInfrastructure } from "./infrastructure-addresses.ts";
import { textAt } from "./stored-secrets.ts";

/** How many names are resolved at the same time. */
const RESOLVED_AT_ONCE = 16;

/** No body of one object, of at most 2 MiB, has more values. */
const ROW_MAX_VALUES = 1024 * 1024;

const FIELDS = jsonSchemaOf(backupSchema);
const SETTING_NAMES = SETTINGS.map(({ name }) => name);

/** The parsed file. Throws 400 `backup_format`, `unknown_field` or `validation_failed`. */
export function readBackup(input: unknown): Backup {
  const { format, version } = (typeof input === "object" && input !== null ? input : {}) as Record<string, unknown>;
  if (format !== BACKUP_FORMAT || version !== BACKUP_VERSION) throw new GatewayError("backup_format");
  refuseUnknown(unknownFields(FIELDS, input));
  refuseMostlyWrong((input as { readonly data?: unknown }).data);
  const backup = parse(backupSchema, input);
  refuseIfAny([
    ...BACKUP_ENTITIES.flatMap((entity) => {
      const { id, unique } = ENTITIES[entity];
      return [[id], ...(unique.length === 0 ? [] : [unique])].flatMap((columns) => givenTwice(backup, entity, columns));
    }),
    ...backup.data.app_settings.flatMap(({ key, value }, at) => settingComplaints(key, value, at)),
  ]);
  return backup;
}

/**
 * Reads row by row, and gives up at as many errors as a refusal lists: reading a whole file of wrong rows at once would use
 * many times its size in memory.
 */
function refuseMostlyWrong(data: unknown): void {
  const complaints: ErrorDetail[] = [];
  for (const [name, list] of Object.entries(backupSchema.shape.data.shape)) {
    const { element } = list.unwrap();
    const rows = (data as Readonly<Record<string, unknown>> | null | undefined)?.[name];
    for (const [at, row] of Array.isArray(rows) ? rows.entries() : []) {
      const path = ["data", name, at];
      if (hasMoreValues(row, ROW_MAX_VALUES))
        throw fieldError(path.join("."), `must have at most ${ROW_MAX_VALUES} values`);
      const { error } = element.safeParse(row, IN_WORDS);
      if (error !== undefined) complaints.push(...errorDetailsOf(error, path));
      if (complaints.length >= DETAILS_MAX) refuseIfAny(complaints);
    }
  }
}

function hasMoreValues(row: unknown, max: number): boolean {
  const values: unknown[] = [row];
  for (const value of values) {
    if (typeof value !== "object" || value === null) continue;
    for (const inner of Object.values(value)) values.push(inner);
    if (values.length > max) return true;
  }
  return false;
}

function givenTwice(backup: Backup, entity: BackupEntity, columns: readonly string[]): readonly ErrorDetail[] {
  const seen = new Set<string>();
  return (backup.data[entity] as readonly BackupRow[]).flatMap((row, at) => {
    const value = JSON.stringify(columns.map((column) => row[column]));
    if (seen.has(value)) return [{ path: `data.${entity}.${at}.${columns.at(-1)}`, message: "is in the backup twice" }];
    seen.add(value);
    return [];
  });
}

/** Errors of one setting. Throws 400 `unknown_field`. */
function settingComplaints(key: string, value: unknown, at: number): readonly ErrorDetail[] {
  const row = ["data", "app_settings", at];
  const path = [...row, "value"];
  if (!isStorableJson(value)) return [{ path: path.join("."), message: NOT_STORABLE_JSON }];
  const setting = SETTINGS.find(({ name }) => name === key);
  if (setting === undefined) {
    const nearest = nearestName(key, SETTING_NAMES);
    const hint = nearest === null ? `: ${SETTING_NAMES.join(", ")}` : `; did you mean '${nearest}'?`;
    return [{ path: [...row, "key"].join("."), message: `is not the name of a setting${hint}` }];
  }
  refuseUnknown(unknownFields(jsonSchemaOf(setting.schema), value, path));
  const { error } = setting.schema.safeParse(value, IN_WORDS);
  return error === undefined ? [] : errorDetailsOf(error, path);
}

/** Throws 400 `address_blocked`, naming the entry, or `validation_failed` for a text that is not an address. */
export async function checkAddresses(ctx: VerbContext, data: Backup["data"]): Promise<void> {
  const resolved = new Map<string, Promise<readonly string[]>>();
  const remembering: VerbContext = {
    ...ctx,
    resolve: async (host) => {
      const known = resolved.get(host) ?? ctx.resolve(host);
      resolved.set(host, known);
      return await known;
    },
  };
  await checkWebhook(remembering, data);
  await checkInfrastructure(remembering, data);
  for (const entity of BACKUP_ENTITIES) {
    const { address, label, name } = ENTITIES[entity];
    if (address === undefined) continue;
    const rows = data[entity] as readonly BackupRow[];
    for (let at = 0; at < rows.length; at += RESOLVED_AT_ONCE) {
      await Promise.all(
        rows.slice(at, at + RESOLVED_AT_ONCE).map(async (row, offset) => {
          const path = `data.${entity}.${at + offset}.${address}`;
          const entry = `${label} '${String(row[name])}': ${address}`;
          await checkUpstreamAddress(remembering, path, String(row[address]), entry);
        }),
      );
    }
  }
}

async function checkWebhook(ctx: VerbContext, data: Backup["data"]): Promise<void> {
  const at = data.app_settings.findIndex(({ key }) => key === alertsSetting.name);
  const value = data.app_settings[at]?.value;
  for (const field of fieldsLike(["slack_webhook_url", "channels.*.url"], value ?? {})) {
    const stored = textAt(value, field);
    if (stored === null) continue;
    const url = await unseal(stored, ctx.sealKey).catch(() => ""); // sealed with a key that is not in use any more: no code can open it, so no call goes there
    const entry = `setting 'alerts': ${field}`;
    await checkUpstreamAddress(ctx, `data.app_settings.${at}.value.${field}`, url, entry);
  }
}
