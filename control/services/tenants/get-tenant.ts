/**
 * Reads one tenant.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import { tenants } from "../../db/schema/tenancy.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { parseId } from "../../kernel/parse.ts";
import { withDatabaseErrors } from "../../kernel/write.ts";
import { tenantRecord } from "../../resources/tenant-record.ts";

/** The tenant. Throws 404. */
export async function getTenant(ctx: VerbContext, id: string): Promise<Tenant> {
  const tenantId = parseId(id);
  const [row] = await withDatabaseErrors(async () => ctx.db.select().from(tenants).where(eq(tenants.id, tenantId)));
  if (row === undefined) throw new GatewayError("not_found");
  return tenantRecord(row);
}
