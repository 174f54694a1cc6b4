/** GET /usage/logs/facets, with the names of tenants and keys (docs/rules/usage-reads.md#facets). */
import { FACETS, type UsageLogFacets, usageLogFacetsQuerySchema } from "../../shared/schema/log-facets.ts";
import { NIL_UUID } from "../../shared/usage/usage-row.ts";
import type { VerbContext } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { readLogFacets } from "./analytics/log-facets.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { namesOf } from "./named-reads.ts";

/** Throws 400, 503. */
export async function getLogFacets(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<UsageLogFacets> {
  const query = parse(usageLogFacetsQuerySchema, input);
  // a facet is not narrowed by its own filter, so that it would count what other tenants have sent
  const facets = FACETS.filter((facet) => ctx.isForUser !== true || facet !== "tenant_id");
  const counted = await readLogFacets(analytics, query, facets, ctx.now().getTime());
  const ids = (wanted: "tenant_id" | "key_id"): readonly string[] =>
    counted.facets.find(({ facet }) => facet === wanted)?.values.map(({ value }) => value) ?? [];
  const names = await namesOf(ctx, [
    ...ids("tenant_id").map((tenant_id) => ({ tenant_id, key_id: NIL_UUID })),
    ...ids("key_id").map((key_id) => ({ tenant_id: NIL_UUID, key_id })),
  ]);
  const nameOf = (facet: string, value: string): string => {
    if (facet === "tenant_id") return names({ tenant_id: value, key_id: NIL_UUID }).tenant_name;
    if (facet !== "key_id") return "";
    const { key_name, key_prefix } = names({ tenant_id: NIL_UUID, key_id: value });
    return key_name === "" ? key_prefix : key_name;
  };
  return {
    from_ms: counted.fromMs,
    to_ms: counted.toMs,
    bucket_ms: counted.widthMs,
    buckets: counted.buckets.map(({ startMs, requests, refused_requests, failed_requests, left_requests }) => ({
      bucket_ms: startMs,
      requests,
      refused_requests,
      failed_requests,
      left_requests,
    })),
    facets: counted.facets.map(({ facet, values, hasMore }) => ({
      facet,
      values: values.map(({ value, requests }) => ({ value, name: nameOf(facet, value), requests })),
      has_more: hasMore,
    })),
  };
}
