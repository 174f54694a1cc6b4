/** Inserts keys: those that people create, and those of the gateway's own processes. */
import { hashKeySecret, keyPrefix, makeKeySecret, pepperId } from "../../shared/access/api-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { NO_RATES } from "../../shared/fields/rates.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Transaction } from "../db/connect.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { keyRecord } from "./key-record.ts";

type KeyValues = Omit<
  typeof apiKeys.$inferInsert,
  "key_prefix" | "key_hash" | "key_pepper" | "created_at" | "updated_at" | "rev"
>;
interface Writing {
  readonly tx: Transaction;
  readonly journal: WriteJournal;
}

/** The key with its secret, which nothing else has. */
export async function insertKey(ctx: VerbContext, { tx, journal }: Writing, values: KeyValues): Promise<CreatedKey> {
  const secret = makeKeySecret(ctx.randomBytes(24));
  const now = ctx.now();
  const [row] = await tx
    .insert(apiKeys)
    .values({
      ...values,
      key_prefix: keyPrefix(secret),
      key_hash: hashKeySecret(secret, ctx.pepper),
      key_pepper: pepperId(ctx.pepper),
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
    detail: { tenant_id: row.tenant_id, name: row.name, key_prefix: row.key_prefix },
  });
  journal.keyChanged(row);
  return { key: keyRecord(row), secret };
}

/** `id`: null for a random one. */
interface ShortKey {
  readonly id: string | null;
  readonly tenantId: string;
  readonly name: string;
  readonly lastsMs: number;
}

/**
 * The key of one of the gateway's own processes, which only that process knows and which ends soon: the console's, the assistant's.
 * It is a key like any other of its tenant.
 */
export async function insertShortKey(
  ctx: VerbContext,
  writing: Writing,
  { id, tenantId, name, lastsMs }: ShortKey,
): Promise<CreatedKey> {
  return await insertKey(ctx, writing, {
    ...(id === null ? {} : { id }),
    tenant_id: tenantId,
    name,
    description: "",
    disabled: false,
    tracing_enabled: false,
    ...NO_RATES,
    expires_at: new Date(ctx.now().getTime() + lastsMs),
  });
}
