/**
 * A key with which the console's server calls models as a tenant, for one person (docs/rules/console.md#relay). It is a key like
 * any other of the tenant: limits, budgets and rows are the tenant's. Its secret stays in the memory of that server.
 */
import { and, lte } from "drizzle-orm";
import { hashKeySecret, keyPrefix, makeKeySecret, pepperId } from "../../shared/access/api-key.ts";
import { CONSOLE_KEY_ID_START } from "../../shared/access/console-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { NO_RATES } from "../../shared/fields/rates.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { deleteKeys } from "../tenants/delete-keys.ts";
import { isOfConsole } from "../tenants/own-tenants.ts";
import { lockTenant } from "../tenants/tenant-record.ts";
import { keyRecord } from "./key-record.ts";

const KEY_FOR_MS = 3_600_000;
/** Of every such key, so that the people of the tenant know it in their lists. */
const NAME = "Console playground";

/** The key and its secret; such keys that have expired are removed, of all persons. Throws 400, 404. */
export async function makeConsoleKey(ctx: VerbContext, tenant: string): Promise<Written<CreatedKey>> {
  const tenantId = parseId(tenant);
  const secret = makeKeySecret(ctx.randomBytes(24));
  const hash = hashKeySecret(secret, ctx.pepper);
  const idEnd = Buffer.from(ctx.randomBytes(8)).toString("hex").slice(1);
  return await write(ctx, async (tx, journal) => {
    await lockTenant(tx, tenantId);
    const now = ctx.now();
    journal.keysRemoved(await deleteKeys(tx, and(isOfConsole(apiKeys.id), lte(apiKeys.expires_at, now))));
    const [row] = await tx
      .insert(apiKeys)
      .values({
        id: `${CONSOLE_KEY_ID_START}${idEnd.slice(0, 3)}-${idEnd.slice(3)}`,
        tenant_id: tenantId,
        name: NAME,
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
      detail: { tenant_id: tenantId, name: row.name, key_prefix: row.key_prefix },
    });
    journal.keyChanged(row);
    return { key: keyRecord(row), secret };
  });
}
