/** Creates a key for a tenant. Only this answer shows the secret (docs/rules/keys.md#secret). */
import { and, eq, not } from "drizzle-orm";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { GatewayError } from "../../shared/errors.ts";
import { type CreatedKey, createKeySchema } from "../../shared/schema/api-key.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { fieldError, parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { isOfConsole } from "../tenants/own-tenants.ts";
import { lockTenant } from "../tenants/tenant-record.ts";
import { changedByAdmin, createdByUser } from "./admin-limits.ts";
import { boundModelNames } from "./bound-model-names.ts";
import { insertKey } from "./insert-key.ts";
import { keyColumns } from "./key-columns.ts";

/** The key and its secret. Throws 400, 404, and 409 `too_many_keys` for a user. */
export async function createKey(ctx: VerbContext, tenant: string, input: unknown): Promise<Written<CreatedKey>> {
  const tenantId = parseId(tenant);
  const body = parse(createKeySchema, input);
  return await write(ctx, async (tx, journal) => {
    await lockTenant(tx, tenantId);
    if (ctx.isForUser === true) {
      const keys = await tx.$count(apiKeys, and(eq(apiKeys.tenant_id, tenantId), not(isOfConsole(apiKeys.id))));
      if (keys >= LIMITS.usersKeys) throw new GatewayError("too_many_keys", { value: String(keys) });
      await boundModelNames(tx, tenantId, body.allowed_models, null);
    }
    const now = ctx.now();
    if (body.expires_at != null && Date.parse(body.expires_at) <= now.getTime())
      throw fieldError("expires_at", "must be in the future: the key would never be accepted");
    const fields = keyColumns(body, null, now) as typeof apiKeys.$inferInsert;
    return await insertKey(
      ctx,
      { tx, journal },
      {
        ...fields,
        ...(ctx.isForUser === true ? createdByUser(fields) : changedByAdmin(null, fields, body)),
        tenant_id: tenantId,
      },
    );
  });
}
