/** Usage of one key (docs/rules/usage-reads.md#key-summary). A key without traffic has zeros; an unknown one is 404. */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type KeySummary, keySummaryQuerySchema } from "../../shared/schema/usage-reads.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { readKeySummary } from "./analytics/key-summaries.ts";
import type { AnalyticsStore } from "./analytics/store.ts";

/** Throws 400, 404, 503. */
export async function getKeySummary(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  id: string,
  input: unknown,
): Promise<KeySummary> {
  const query = parse(keySummaryQuerySchema, input);
  const keyId = parseId(id);
  const [key] = await withDatabaseErrors(
    async () =>
      await ctx.db.select({ id: apiKeys.id, tenant_id: apiKeys.tenant_id }).from(apiKeys).where(eq(apiKeys.id, keyId)),
  );
  if (key === undefined) throw new GatewayError("not_found");
  return await readKeySummary(analytics, key, query, ctx.now().getTime());
}
