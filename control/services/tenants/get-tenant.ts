/**
 * Reads one tenant.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import { tenants } from "../../db/schema/tenancy.ts";
import type { VerbContext } from "../context.ts";
import { parseId } from "../parse.ts";
import { inDatabase } from "../write.ts";
import { tenantRecord } from "./tenant-record.ts";

/** The tenant. Throws 404. */
export async function getTenant(ctx: VerbContext, id: string): Promise<Tenant> {
  const tenantId = parseId(id);
  const [row] = await inDatabase(async () => ctx.db.select().from(tenants).where(eq(tenants.id, tenantId)));
  if (row === undefined) throw new GatewayError("not_found");
  return tenantRecord(row);
}
