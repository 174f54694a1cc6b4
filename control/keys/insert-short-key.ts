/**
 * The key of one of the gateway's own processes, which only that process knows and which ends soon: the console's, the assistant's.
 * It is a key like any other of its tenant.
 */
import { hashKeySecret, keyPrefix, makeKeySecret, pepperId } from "../../shared/access/api-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { NO_RATES } from "../../shared/fields/rates.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Transaction } from "../db/connect.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { keyRecord } from "./key-record.ts";

/** `id`: null for a random one. */
interface ShortKey {
  readonly id: string | null;
  readonly tenantId: string;
  readonly name: string;
  readonly lastsMs: number;
}

/** Inserts the key; gives it with its secret. */
export async function insertShortKey(
  ctx: VerbContext,
  { tx, journal }: { readonly tx: Transaction; readonly journal: WriteJournal },
  { id, tenantId, name, lastsMs }: ShortKey,
): Promise<CreatedKey> {
  const secret = makeKeySecret(ctx.randomBytes(24));
  const now = ctx.now();
  const [row] = await tx
    .insert(apiKeys)
    .values({
      ...(id === null ? {} : { id }),
      tenant_id: tenantId,
      name,
      description: "",
      key_prefix: keyPrefix(secret),
      key_hash: hashKeySecret(secret, ctx.pepper),
      key_pepper: pepperId(ctx.pepper),
      disabled: false,
      tracing_enabled: false,
      ...NO_RATES,
      expires_at: new Date(now.getTime() + lastsMs),
      created_at: now,
      updated_at: now,
      rev: journal.rev,
    })
    .returning();
  if (row === undefined) throw new GatewayError("internal_error");
  journal.audit({
    action: "create_key",
    entityType: "api_key",
    entityId: row.id,
    detail: { tenant_id: tenantId, name: row.name, key_prefix: row.key_prefix },
  });
  journal.keyChanged(row);
  return { key: keyRecord(row), secret };
}
