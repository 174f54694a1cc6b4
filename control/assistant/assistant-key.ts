/**
 * A key for the assistant of one console process, of a tenant that is made at its first use
 * (docs/rules/assistant.md#model). The tenant is like any other: what its requests may do and cost is governed by it.
 */
import { and, eq, lte } from "drizzle-orm";
import { hashKeySecret, keyPrefix, makeKeySecret, pepperId } from "../../shared/access/api-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { NO_RATES } from "../../shared/fields/rates.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import { createTenantSchema } from "../../shared/schema/tenant.ts";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { keyRecord } from "../keys/key-record.ts";
import { deleteKeys } from "../tenants/delete-keys.ts";
import { insertTenant } from "../tenants/insert-tenant.ts";
import { ASSISTANT_TENANT_ID, freeAssistantName } from "../tenants/own-tenants.ts";

const KEY_FOR_MS = 86_400_000;

/** The key and its secret; keys of it that have expired are removed. */
export async function makeAssistantKey(ctx: VerbContext): Promise<Written<CreatedKey>> {
  const secret = makeKeySecret(ctx.randomBytes(24));
  const hash = hashKeySecret(secret, ctx.pepper);
  return await write(ctx, async (tx, journal) => {
    const now = ctx.now();
    const mine = eq(tenants.id, ASSISTANT_TENANT_ID);
    const [known] = await tx.select({ id: tenants.id }).from(tenants).where(mine).for("update");
    if (known === undefined) {
      const body = parse(createTenantSchema, {
        name: await freeAssistantName(tx),
        description: "Requests from the console's assistant to its model",
      });
      await insertTenant(tx, journal, { ...body, id: ASSISTANT_TENANT_ID }, now);
    }
    const ended = await deleteKeys(tx, and(eq(apiKeys.tenant_id, ASSISTANT_TENANT_ID), lte(apiKeys.expires_at, now)));
    journal.keysRemoved(ended);
    const [row] = await tx
      .insert(apiKeys)
      .values({
        tenant_id: ASSISTANT_TENANT_ID,
        name: "assistant",
        description: "",
        key_prefix: keyPrefix(secret),
        key_hash: hash,
        key_pepper: pepperId(ctx.pepper),
        disabled: false,
        tracing_enabled: false,
        ...NO_RATES,
        expires_at: new Date(now.getTime() + KEY_FOR_MS),
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
      detail: { tenant_id: ASSISTANT_TENANT_ID, name: row.name, key_prefix: row.key_prefix },
    });
    journal.keyChanged(row);
    return { key: keyRecord(row), secret };
  });
}
