/**
 * Decides which secrets of a backup are restored (docs/rules/backup.md#secrets-belong-to-entries): those whose mac matches
 * their entry and the origin they would be sent to. An entry whose mac does not match is restored without its secret. An
 * endpoint that would then send its model's credential to an address without a matching mac is restored disabled. A file
 * without macs is restored as it is, with a warning.
 */
import { inArray } from "drizzle-orm";
import { isSealed, unseal } from "../../shared/crypto/seal.ts";
import type { ErrorDetail } from "../../shared/errors.ts";
import { originOf } from "../../shared/network/origin.ts";
import { BACKUP_ENTITIES, type Backup, type BackupEntity } from "../../shared/schema/backup.ts";
import type { Transaction } from "../db/connect.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { models } from "../db/schema/models.ts";
import type { VerbContext } from "../kernel/context.ts";
import { isMacOf, type SealedSecret } from "../kernel/encryption/secret-macs.ts";
import { refuseIfAny } from "../kernel/parse.ts";
import { type BackupRow, ENTITIES } from "./backup-entities.ts";
import { inBatches } from "./merge.ts";
import { contentOf, inheritedSecret, inheritsSecret, secretsOfRow } from "./secret-origins.ts";
import { withoutText } from "./stored-secrets.ts";

const NO_MACS =
  "the backup has no macs, so nothing proves that its secrets belong to the addresses next to them; check the addresses";

export const UNPROVEN =
  "nothing proves that a gateway with this encryption key exported this file as it is: keys, limits and addresses in it may have been added or changed; compare them in a dry run";

/** A warning, unless the file has a mac of its whole content. Without an encryption key there are no macs. */
export async function verifyContent({ backupKey }: VerbContext, input: object): Promise<readonly string[]> {
  if (backupKey === undefined) return [];
  const { mac, ...content } = input as Backup;
  const isWhole = mac !== undefined && (await isMacOf(backupKey, contentOf([JSON.stringify(content)]), mac));
  return isWhole ? [] : [UNPROVEN];
}

/** True when the file has a matching mac for the secret. */
type Vouch = (secret: SealedSecret) => Promise<boolean>;

interface VerifiedSecrets {
  readonly data: Backup["data"];
  readonly warnings: readonly string[];
  /** Null when the secrets need no check against macs. */
  readonly vouch: Vouch | null;
}

/** Throws 400 `validation_failed` that names every secret which cannot be opened. */
export async function verifySecrets(ctx: VerbContext, data: Backup["data"]): Promise<VerifiedSecrets> {
  const sealed = await sealedOf(ctx, data);
  await refuseUnopened(ctx, sealed);
  const { backupKey } = ctx;
  if (backupKey === undefined) return { data, warnings: [], vouch: null };
  if (data.macs === undefined) return { data, warnings: sealed.length === 0 ? [] : [NO_MACS], vouch: null };
  const macs = new Map(data.macs.map((entry) => [placeOf(entry), entry.mac]));
  const vouch: Vouch = async (secret) => {
    const mac = macs.get(placeOf(secret));
    return mac !== undefined && (await isMacOf(backupKey, secret, mac));
  };
  const warnings: string[] = [];
  const verified: Record<string, unknown> = { ...data };
  for (const { entity, at, row, secret } of sealed) {
    if (await vouch(secret)) continue;
    const rows = [...(verified[entity] as readonly BackupRow[])];
    rows[at] = without(entity, rows[at] ?? row, secret.field);
    verified[entity] = rows;
    warnings.push(
      `${labelOf(entity, row)}: ${secret.field} was not restored, because its mac is not valid ${atOrigin(secret)}; set it again`,
    );
  }
  const kept = verified as Backup["data"];
  const credentials = new Map(kept.models.map((row) => [row.id, row.api_key]));
  const endpoints = await disabled(vouch, kept.model_endpoints, warnings, (row) =>
    credentials.get(String(row["model_id"])),
  );
  return { data: { ...kept, model_endpoints: endpoints }, warnings, vouch };
}

/**
 * Checks endpoints whose models are stored here but are not in the file, with the stored credential of the model. An
 * endpoint that is already enabled here, at the same address and with the same model, is not changed. Adds to `warnings`.
 */
export async function verifyEndpointsOfOthers(
  tx: Transaction,
  { data, vouch }: VerifiedSecrets,
  warnings: string[],
): Promise<readonly BackupRow[]> {
  const own = new Set(data.models.map((row) => row.id));
  const others = data.model_endpoints.filter((row) => !own.has(row.model_id) && inheritsSecret(row));
  if (vouch === null || others.length === 0) return data.model_endpoints;
  const credentials = new Map<string, string | null>();
  const known = new Map<string, string>();
  for (const batch of inBatches(others)) {
    const ids = { models: batch.map((row) => row.model_id), endpoints: batch.map((row) => row.id) };
    const owners = await tx
      .select({ id: models.id, key: models.api_key })
      .from(models)
      .where(inArray(models.id, ids.models));
    for (const { id, key } of owners) credentials.set(id, key);
    const before = await tx.select().from(modelEndpoints).where(inArray(modelEndpoints.id, ids.endpoints));
    for (const row of before) if (inheritsSecret(row) && row.enabled) known.set(row.id, destinationOf(row));
  }
  return await disabled(vouch, data.model_endpoints, warnings, (row) => {
    if (known.get(String(row["id"])) === destinationOf(row)) return null;
    return credentials.get(String(row["model_id"])) ?? null;
  });
}

/** Identifies the model whose credential an endpoint sends, and the origin that gets it. */
function destinationOf(row: BackupRow): string {
  return `${String(row["model_id"])} ${originOf(String(row["api_base"]))}`;
}

/**
 * The rows, with each endpoint disabled that would send a sealed credential (`credentialOf`) to an origin for which `vouch`
 * is false.
 */
async function disabled<Row extends BackupRow>(
  vouch: Vouch,
  rows: readonly Row[],
  warnings: string[],
  credentialOf: (row: Row) => string | null | undefined,
): Promise<Row[]> {
  const verified: Row[] = [];
  for (const row of rows) {
    const credential = inheritsSecret(row) && row["enabled"] !== false ? credentialOf(row) : null;
    // a plain credential comes from the file itself, so sending it reveals no secret of this gateway
    const secret = typeof credential === "string" && isSealed(credential) ? inheritedSecret(row, credential) : null;
    if (secret === null || (await vouch(secret))) {
      verified.push(row);
      continue;
    }
    warnings.push(
      `${labelOf("model_endpoints", row)}: restored disabled, because the mac of the model's api_key is not valid ${atOrigin(secret)}`,
    );
    verified.push({ ...row, enabled: false });
  }
  return verified;
}

interface Placed {
  readonly entity: BackupEntity;
  /** The index of the row. */
  readonly at: number;
  readonly row: BackupRow;
  readonly secret: SealedSecret;
}

async function sealedOf(ctx: VerbContext, data: Backup["data"]): Promise<readonly Placed[]> {
  const found: Placed[] = [];
  for (const entity of BACKUP_ENTITIES)
    for (const [at, row] of (data[entity] as readonly BackupRow[]).entries())
      for (const secret of await secretsOfRow(entity, row, ctx.sealKey)) found.push({ entity, at, row, secret });
  return found;
}

async function refuseUnopened({ sealKey }: VerbContext, sealed: readonly Placed[]): Promise<void> {
  const complaints: ErrorDetail[] = [];
  for (const { entity, at, row, secret } of sealed) {
    const opens = await unseal(secret.ciphertext, sealKey).then(
      () => true,
      () => false,
    );
    if (opens) continue;
    const within = entity === "app_settings" ? `value.${secret.field}` : secret.field;
    const message = `cannot be decrypted: the secret of ${labelOf(entity, row)} is damaged or was encrypted with another key`;
    complaints.push({ path: `data.${entity}.${at}.${within}`, message });
  }
  refuseIfAny(complaints);
}

function without(entity: BackupEntity, row: BackupRow, field: string): BackupRow {
  return entity === "app_settings" ? { ...row, value: withoutText(row["value"], field) } : { ...row, [field]: null };
}

function labelOf(entity: BackupEntity, row: BackupRow): string {
  const { label, name } = ENTITIES[entity];
  return `${label} '${String(row[name])}'`;
}

function atOrigin({ origin }: SealedSecret): string {
  return origin === "" ? "without an address" : `at ${origin}`;
}

function placeOf({
  entity,
  id,
  field,
}: {
  readonly entity: string;
  readonly id: string;
  readonly field: string;
}): string {
  return JSON.stringify([entity, id, field]);
}
