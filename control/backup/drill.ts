/**
 * A restore drill (docs/recover.md#restore-drill): restores a backup into an empty database, reads it back, and compares
 * what came back with the file. It asks no other service and calls no address.
 */
import { createHash } from "node:crypto";
import { inArray } from "drizzle-orm";
import { hashKeySecret, isKeySecret } from "../../shared/access/api-key.ts";
import { isSealed, type SealKey, unseal } from "../../shared/crypto/seal.ts";
import { BACKUP_ENTITIES, type Backup, type BackupEntity } from "../../shared/schema/backup.ts";
import type { Connection } from "../db/connect.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { type BackupRow, ENTITIES } from "./backup-entities.ts";
import { readBackup } from "./checks.ts";
import { exportBackup } from "./export-backup.ts";
import { restoreBackup } from "./restore-backup.ts";
import { secretsOf } from "./stored-secrets.ts";
import { UNPROVEN } from "./verify-secrets.ts";

/** What a drill is given in addition to the file. */
export interface DrillOptions {
  /** An empty database with every migration; the drill fills it. */
  readonly connection: Connection;
  readonly sealKey: SealKey | undefined;
  /** Present exactly when there is a `sealKey`. */
  readonly backupKey: VerbContext["backupKey"];
  readonly pepper: string | undefined;
  readonly oldPeppers: readonly string[];
  /** The secret of a key that must authenticate after the restore; absent: none is tried. */
  readonly keySecret?: string;
  readonly now: VerbContext["now"];
  readonly randomBytes: VerbContext["randomBytes"];
}

/** What a drill found. It has passed when `problems` is empty. */
export interface DrillReport {
  /** When the file was exported, as the file says. */
  readonly exported_at: string;
  readonly gateway_version: string;
  /** Restored rows by kind. */
  readonly rows: Readonly<Record<BackupEntity, number>>;
  /** Encrypted credentials of the file that the given key opens. */
  readonly encrypted_credentials: number;
  /** SHA-256 of all rows of the file, with their credentials opened; that of the restored rows is the same when it passed. */
  readonly checksum: string;
  /** `authenticates`, `refused`, or `not tried`. */
  readonly key: "authenticates" | "refused" | "not tried";
  /** Why a restore would not bring back what the file has, and the warnings of the restore. */
  readonly problems: readonly string[];
}

/** Runs the drill. Throws what a restore throws (docs/rules/backup.md#restore). */
export async function drill(input: unknown, options: DrillOptions): Promise<DrillReport> {
  const { sealKey, now } = options;
  const ctx = contextOf(options);
  const file = readBackup(input);
  const restored = (await restoreBackup(ctx, input)).record;
  const { pieces } = await exportBackup(ctx, file.gateway_version);
  const back = readBackup(JSON.parse(pieces.join("")));
  // Files of versions before the mac have none: that says nothing about whether a restore brings everything back.
  const problems = restored.warnings.filter((warning) => warning !== UNPROVEN || file.mac !== undefined);
  const rows = {} as Record<BackupEntity, number>;
  const checksum = createHash("sha256");
  for (const entity of BACKUP_ENTITIES) {
    const given = await textsOf(file, entity, sealKey);
    const found = await textsOf(back, entity, sealKey);
    for (const [id, text] of given) {
      checksum.update(text);
      if (found.get(id) !== text) problems.push(`${entity} '${id}' differs from the file`);
    }
    rows[entity] = restored[entity].inserted + restored[entity].updated;
    if (rows[entity] !== given.size) problems.push(`${entity}: ${rows[entity]} of ${given.size} rows were restored`);
  }
  // every export has the default group, so that a file without a row is not a backup of anything
  if (Object.values(rows).every((count) => count === 0)) problems.push("the file has no rows");
  const key = await tryKey(options, now());
  if (key === "refused") problems.push("the given key does not authenticate");
  return {
    exported_at: file.exported_at,
    gateway_version: file.gateway_version,
    rows,
    encrypted_credentials: secretsOf(file.data).filter(isSealed).length,
    checksum: checksum.digest("hex"),
    key,
    problems,
  };
}

/** Addresses are not checked: the policy is that of the installation to which the backup is restored in earnest. */
function contextOf({
  connection,
  sealKey,
  backupKey,
  pepper,
  oldPeppers,
  now,
  randomBytes,
}: DrillOptions): VerbContext {
  return {
    db: connection.db,
    actor: "drill",
    address: "",
    now,
    randomBytes,
    sealKey,
    backupKey,
    pepper,
    oldPeppers,
    ssrf: { blockPrivate: false, allowedCidrs: [] },
    resolve: async () => [],
    publisher: {
      publish: async () => "done",
      refresh: async () => undefined,
      unconfirmed: async () => ({ changes: 0, sinceMs: null }),
    },
    checkIntervalSecs: 900,
    checkIsDue: () => undefined,
  };
}

/** Each row by its id, as a text that is equal for equal rows, in the order of the ids. */
async function textsOf(
  { data }: Backup,
  entity: BackupEntity,
  key: SealKey | undefined,
): Promise<ReadonlyMap<string, string>> {
  const texts: [string, string][] = [];
  for (const row of data[entity] as readonly BackupRow[])
    texts.push([String(row[ENTITIES[entity].id]), JSON.stringify(await comparable(row, key))]);
  return new Map(texts.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The value with credentials opened and fields in the order of their names: a database stores objects in its own order. */
async function comparable(value: unknown, key: SealKey | undefined): Promise<unknown> {
  if (typeof value === "string") return isSealed(value) ? await unseal(value, key).catch(() => value) : value;
  if (Array.isArray(value)) return await Promise.all(value.map(async (entry) => await comparable(entry, key)));
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return await Promise.all(entries.map(async ([name, entry]) => [name, await comparable(entry, key)]));
}

async function tryKey(
  { connection, keySecret, pepper, oldPeppers }: DrillOptions,
  now: Date,
): Promise<DrillReport["key"]> {
  if (keySecret === undefined) return "not tried";
  if (!isKeySecret(keySecret)) return "refused";
  const [row] = await connection.db
    .select({ disabled: apiKeys.disabled, expires: apiKeys.expires_at })
    .from(apiKeys)
    .where(
      inArray(
        apiKeys.key_hash,
        [pepper, ...oldPeppers].map((each) => hashKeySecret(keySecret, each)),
      ),
    );
  const works = row !== undefined && !row.disabled && (row.expires === null || new Date(row.expires) > now);
  return works ? "authenticates" : "refused";
}
