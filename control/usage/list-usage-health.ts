/** GET /usage/health, with the names of tenants (docs/rules/usage-reads.md#health). */
import { type UsageHealth, usageHealthQuerySchema } from "../../shared/schema/health-reads.ts";
import { NIL_UUID } from "../../shared/usage/usage-row.ts";
import type { VerbContext } from "../kernel/context.ts";
import { parse, refuseIfAny } from "../kernel/parse.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { readHealth } from "./analytics/usage-health.ts";
import { namesOf, refuseEndpoints } from "./named-reads.ts";

/** Throws 400, 503. */
export async function listUsageHealth(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly UsageHealth[]> {
  const query = parse(usageHealthQuerySchema, input);
  refuseEndpoints(ctx, query);
  const asksEndpoint = ctx.isForUser === true && query.endpoint !== undefined;
  refuseIfAny(asksEndpoint ? [{ path: "endpoint", message: "endpoint is for admins" }] : []);
  const rows = await readHealth(analytics, query, ctx.now().getTime());
  const names = await namesOf(
    ctx,
    rows.map(({ tenant_id }) => ({ tenant_id, key_id: NIL_UUID })),
  );
  return rows.map((row) => ({ ...row, tenant_name: names({ ...row, key_id: NIL_UUID }).tenant_name }));
}
