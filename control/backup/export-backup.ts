/**
 * Exports the whole configuration as one file, with credentials as they are stored (docs/rules/backup.md#file). No write
 * can happen during the read, so the file shows one moment. Usage, health and users are not part of it.
 */
import { and, asc, gt } from "drizzle-orm";
import { BACKUP_ENTITIES, BACKUP_FORMAT, BACKUP_VERSION, type BackupEntity } from "../../shared/schema/backup.ts";
import type { Transaction } from "../db/connect.ts";
import type { VerbContext } from "../kernel/context.ts";
import { macOf } from "../kernel/encryption/secret-macs.ts";
import { write } from "../kernel/write.ts";
import { type BackupRow, columnOf, ENTITIES } from "./backup-entities.ts";
import { backupName } from "./backup-name.ts";
import { makeKeyCheck } from "./key-check.ts";
import { BATCH } from "./merge.ts";
import { contentOf, MacCollector } from "./secret-origins.ts";

interface BackupFile {
  /** As {@link backupName} makes it. */
  readonly filename: string;
  /** The file's text in pieces. */
  readonly pieces: readonly string[];
}

/** What the name of a scheduled backup says. */
interface BackupName {
  /** When it is exported. */
  readonly at: Date;
  /** The identity of its gateway. */
  readonly gateway: string;
}

/** The file. `gatewayVersion` is that of this service; `name`: of a scheduled backup. */
export async function exportBackup(ctx: VerbContext, gatewayVersion: string, name?: BackupName): Promise<BackupFile> {
  const now = name?.at ?? ctx.now();
  const head = {
    format: BACKUP_FORMAT,
    version: BACKUP_VERSION,
    exported_at: now.toISOString(),
    gateway_version: gatewayVersion,
    encryption: {
      cipher_enabled: ctx.sealKey !== undefined,
      key_check: await makeKeyCheck(ctx.sealKey),
      api_key_pepper_set: ctx.pepper !== undefined,
    },
  };
  const { record } = await write(ctx, async (tx, journal) => {
    const pieces = [`${JSON.stringify(head).slice(0, -1)},"data":{`];
    const counts: Record<string, number> = {};
    const vouching = new MacCollector(ctx);
    for (const [at, entity] of BACKUP_ENTITIES.entries()) {
      pieces.push(`${at === 0 ? "" : ","}"${entity}":[`);
      counts[entity] = await appendRows(tx, entity, pieces, vouching);
      pieces.push("]");
    }
    pieces.push(`,"macs":${JSON.stringify(vouching.macs())}}`);
    const mac = ctx.backupKey && (await macOf(ctx.backupKey, contentOf([...pieces, "}"])));
    pieces.push(mac === undefined ? "}" : `,"mac":"${mac}"}`);
    journal.audit({ action: "export_backup", entityType: "gateway", entityId: "backup", detail: counts });
    return pieces;
  });
  return { filename: backupName(now, name?.gateway), pieces: record };
}

async function appendRows(
  tx: Transaction,
  entity: BackupEntity,
  pieces: string[],
  vouching: MacCollector,
): Promise<number> {
  const { table, schema, id, exported, asExported = (row) => row } = ENTITIES[entity];
  const names = Object.keys(schema.shape);
  const columns = Object.fromEntries(names.map((name) => [name, columnOf(table, name)]));
  const idColumn = columnOf(table, id);
  let after: unknown;
  let count = 0;
  for (;;) {
    const stored: readonly BackupRow[] = await tx
      .select(columns)
      .from(table)
      .where(and(exported, after === undefined ? undefined : gt(idColumn, after)))
      .orderBy(asc(idColumn))
      .limit(BATCH);
    if (stored.length === 0) return count;
    const rows = stored.map(asExported);
    for (const row of rows) await vouching.add(entity, row);
    const texts = rows.map((row) => JSON.stringify(row));
    pieces.push(`${count === 0 ? "" : ","}${texts.join(",")}`);
    count += rows.length;
    after = rows.at(-1)?.[id];
  }
}
