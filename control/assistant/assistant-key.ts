/**
 * A key for the assistant of one console process, of a tenant that is made at its first use
 * (docs/rules/assistant.md#model). The tenant is like any other: what its requests may do and cost is governed by it.
 */
import { and, eq, lte } from "drizzle-orm";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import { createTenantSchema } from "../../shared/schema/tenant.ts";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { whenStored } from "../kernel/stored-key.ts";
import { write } from "../kernel/write.ts";
import { insertShortKey } from "../keys/insert-key.ts";
import { deleteKeys } from "../tenants/delete-keys.ts";
import { insertTenant } from "../tenants/insert-tenant.ts";
import { ASSISTANT_TENANT_ID, freeAssistantName } from "../tenants/own-tenants.ts";

const KEY_FOR_MS = 86_400_000;

/** The key and its secret; keys of it that have expired are removed. Throws 503. */
export async function makeAssistantKey(ctx: VerbContext): Promise<Written<CreatedKey>> {
  const written = await write(ctx, async (tx, journal) => {
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
    const key = { id: null, tenantId: ASSISTANT_TENANT_ID, name: "assistant", lastsMs: KEY_FOR_MS };
    return await insertShortKey(ctx, { tx, journal }, key);
  });
  return await whenStored(ctx, written, written.record.secret);
}
