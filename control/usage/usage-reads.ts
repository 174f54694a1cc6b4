/**
 * Usage reads that need only the analytics store: the query is parsed, the figures are read
 * (docs/rules/usage-reads.md#shapes).
 */
import type { z } from "zod";
import { usageLogFilterSchema, usageModelsQuerySchema } from "../../shared/schema/usage.ts";
import {
  keySummariesQuerySchema,
  type Span,
  usageFilterQuerySchema,
  usageKeysQuerySchema,
  usageSeriesQuerySchema,
  usageTotalsQuerySchema,
} from "../../shared/schema/usage-reads.ts";
import type { VerbContext } from "../kernel/context.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { readKeySummaries } from "./analytics/key-summaries.ts";
import { readLogTotals } from "./analytics/log-totals.ts";
import { readSpans, traceAmong } from "./analytics/spans.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { readCacheUsage } from "./analytics/usage-costs.ts";
import { readModelUsage } from "./analytics/usage-models.ts";
import { readModelSeries, readSeries, readTenantSeries } from "./analytics/usage-series.ts";
import { readKeyUsage, readTotals } from "./analytics/usage-totals.ts";

/**
 * GET /usage/logs/{request_id}/spans: the trace of one request, ordered by the start of the spans; empty when it was not
 * traced. Throws 404 when the id is not a UUID, 503.
 */
export async function listSpans(analytics: AnalyticsStore, requestId: string): Promise<readonly Span[]> {
  return traceAmong(await readSpans(analytics, parseId(requestId)));
}

/** A read as a verb. Throws 400, 503. */
type UsageRead<T> = (ctx: VerbContext, analytics: AnalyticsStore, input: unknown) => Promise<T>;

function usageRead<Q, T>(
  schema: z.ZodType<Q>,
  read: (store: AnalyticsStore, query: Q, nowMs: number) => Promise<T>,
): UsageRead<T> {
  return async (ctx, analytics, input) => await read(analytics, parse(schema, input), ctx.now().getTime());
}

/** GET /usage. */
export const listTotals = usageRead(usageTotalsQuerySchema, readTotals);
/** GET /usage/keys. */
export const listKeyUsage = usageRead(usageKeysQuerySchema, readKeyUsage);
/** GET /usage/keys/summary. */
export const listKeySummaries = usageRead(keySummariesQuerySchema, readKeySummaries);
/** GET /usage/models. */
export const listModelUsage = usageRead(usageModelsQuerySchema, readModelUsage);
/** GET /usage/logs/totals. */
export const getLogTotals = usageRead(usageLogFilterSchema, readLogTotals);
/** GET /usage/series. */
export const listSeries = usageRead(usageSeriesQuerySchema, readSeries);
/** GET /usage/series/tenants. */
export const listTenantSeries = usageRead(usageSeriesQuerySchema, readTenantSeries);
/** GET /usage/series/models. */
export const listModelSeries = usageRead(usageSeriesQuerySchema, readModelSeries);
/** GET /usage/cache. */
export const getCacheUsage = usageRead(usageFilterQuerySchema, readCacheUsage);
