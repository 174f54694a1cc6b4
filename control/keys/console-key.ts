/**
 * A key with which the console's server calls models as a tenant, for one person (docs/rules/console.md#relay). It is a key like
 * any other of the tenant: limits, budgets and rows are the tenant's. Its secret stays in the memory of that server.
 */
import { and, lte } from "drizzle-orm";
import { CONSOLE_KEY_ID_START } from "../../shared/access/console-key.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import { consoleKeys } from "../db/schema/users.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parseId } from "../kernel/parse.ts";
import { whenStored } from "../kernel/stored-key.ts";
import { write } from "../kernel/write.ts";
import { deleteKeys } from "../tenants/delete-keys.ts";
import { isOfConsole } from "../tenants/own-tenants.ts";
import { lockTenant } from "../tenants/tenant-record.ts";
import { insertShortKey } from "./insert-key.ts";

const KEY_FOR_MS = 3_600_000;
/** Of every such key, so that the people of the tenant know it in their lists, and in rows of requests and of batches. */
const NAME = "Console (playground, batches)";

/** The key and its secret; such keys that have expired are removed, of all persons. Throws 400, 404, 503. */
export async function makeConsoleKey(ctx: VerbContext, tenant: string): Promise<Written<CreatedKey>> {
  const tenantId = parseId(tenant);
  const idEnd = Buffer.from(ctx.randomBytes(8)).toString("hex").slice(1);
  const id = `${CONSOLE_KEY_ID_START}${idEnd.slice(0, 3)}-${idEnd.slice(3)}`;
  const written = await write(ctx, async (tx, journal) => {
    await lockTenant(tx, tenantId);
    journal.keysRemoved(await deleteKeys(tx, and(isOfConsole(apiKeys.id), lte(apiKeys.expires_at, ctx.now()))));
    const made = await insertShortKey(ctx, { tx, journal }, { id, tenantId, name: NAME, lastsMs: KEY_FOR_MS });
    if (ctx.personId !== undefined) await tx.insert(consoleKeys).values({ key_id: id, user_id: ctx.personId });
    return made;
  });
  return await whenStored(ctx, written, written.record.secret);
}
