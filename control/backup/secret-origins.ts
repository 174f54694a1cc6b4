/**
 * The sealed secrets of rows, each with the origin it is sent to, and their macs on export. A model's credential goes to its
 * own address and to every endpoint that has none of its own: each of these has a mac.
 */
import { createHash } from "node:crypto";
import { isSealed, type SealKey, unseal } from "../../shared/crypto/seal.ts";
import { originOf } from "../../shared/network/origin.ts";
import type { BackupEntity, BackupMac } from "../../shared/schema/backup.ts";
import type { VerbContext } from "../kernel/context.ts";
import { macOf, type SealedSecret } from "../kernel/encryption/secret-macs.ts";
import { SETTINGS } from "../kernel/settings/definitions.ts";
import { fieldsLike } from "../kernel/settings/setting.ts";
import { type BackupRow, ENTITIES } from "./backup-entities.ts";
import { textAt } from "./stored-secrets.ts";

/** The sealed secrets in the row itself. A secret that cannot be opened has no origin. */
export async function secretsOfRow(
  entity: BackupEntity,
  row: BackupRow,
  key: SealKey | undefined,
): Promise<readonly SealedSecret[]> {
  if (entity === "app_settings") return await secretsOfSetting(row, key);
  const { id, secrets, address } = ENTITIES[entity];
  return secrets.flatMap((field) => {
    const ciphertext = row[field];
    if (typeof ciphertext !== "string" || !isSealed(ciphertext) || address === undefined) return [];
    return [{ entity, id: String(row[id]), field, origin: originOf(String(row[address])), ciphertext }];
  });
}

async function secretsOfSetting(row: BackupRow, key: SealKey | undefined): Promise<readonly SealedSecret[]> {
  const setting = SETTINGS.find(({ name }) => name === row["key"]);
  const value = setting?.schema.safeParse(row["value"]).data;
  const found: SealedSecret[] = [];
  if (setting === undefined || value === undefined) return found;
  for (const field of fieldsLike(setting.sealed, row["value"] as object)) {
    const ciphertext = textAt(row["value"], field);
    if (ciphertext === null || !isSealed(ciphertext)) continue;
    const secret = await unseal(ciphertext, key).catch(() => null);
    const origin = secret === null ? "" : (setting.originOf?.(value, field, secret) ?? "");
    found.push({ entity: "app_settings", id: setting.name, field, origin, ciphertext });
  }
  return found;
}

/** The credential of a model as an endpoint without one of its own sends it. */
export function inheritedSecret(endpoint: BackupRow, ciphertext: string): SealedSecret {
  const origin = originOf(String(endpoint["api_base"]));
  return { entity: "model_endpoints", id: String(endpoint["id"]), field: "api_key", origin, ciphertext };
}

/** True for an endpoint that sends the credential of its model. */
export function inheritsSecret(endpoint: BackupRow): boolean {
  return endpoint["api_key"] === null || endpoint["api_key"] === undefined || endpoint["api_key"] === "";
}

/**
 * The text of a whole file without its own mac, in the place of a secret: anybody who can write the file can add a key or raise a
 * budget without touching a secret.
 */
export function contentOf(pieces: readonly string[]): SealedSecret {
  const digest = createHash("sha256");
  for (const piece of pieces) digest.update(piece);
  return { entity: "backup", id: "", field: "file", origin: "", ciphertext: digest.digest("hex") };
}

/** Collects the macs of an export, models before their endpoints. */
export class MacCollector {
  readonly #ctx: Pick<VerbContext, "sealKey" | "backupKey">;
  readonly #macs: BackupMac[] = [];
  /** Sealed credentials of models, by id. */
  readonly #models = new Map<string, string>();

  constructor(ctx: Pick<VerbContext, "sealKey" | "backupKey">) {
    this.#ctx = ctx;
  }

  async add(entity: BackupEntity, row: BackupRow): Promise<void> {
    for (const secret of await secretsOfRow(entity, row, this.#ctx.sealKey)) {
      if (entity === "models") this.#models.set(secret.id, secret.ciphertext);
      await this.#vouch(secret);
    }
    const inherited =
      entity === "model_endpoints" && inheritsSecret(row) ? this.#models.get(String(row["model_id"])) : undefined;
    if (inherited !== undefined) await this.#vouch(inheritedSecret(row, inherited));
  }

  /** Collects nothing without a key, because nothing is sealed then. */
  macs(): readonly BackupMac[] {
    return this.#macs;
  }

  async #vouch(secret: SealedSecret): Promise<void> {
    const key = this.#ctx.backupKey;
    if (key === undefined) return;
    const { entity, id, field } = secret;
    this.#macs.push({ entity, id, field, mac: await macOf(key, secret) });
  }
}
