/**
 * Usage, cost and load reads (docs/rules/usage-reads.md#shapes).
 */
import { z } from "zod";
import { captureSchema } from "../../shared/schema/capture.ts";
import {
  costsQuerySchema,
  dailySpendQuerySchema,
  dailySpendSchema,
  modelCostSchema,
  monthSpendQuerySchema,
  monthSpendSchema,
} from "../../shared/schema/cost-reads.ts";
import { usageHealthQuerySchema, usageHealthSchema } from "../../shared/schema/health-reads.ts";
import { usageLogFacetsQuerySchema, usageLogFacetsSchema } from "../../shared/schema/log-facets.ts";
import {
  modelUsageSchema,
  type UsageLog,
  usageLogFilterSchema,
  usageLogSchema,
  usageLogsQuerySchema,
  usageLogTotalsSchema,
  usageModelsQuerySchema,
} from "../../shared/schema/usage.ts";
import {
  cacheUsageSchema,
  dailyUsageSchema,
  keySummariesQuerySchema,
  keySummaryQuerySchema,
  keySummarySchema,
  keyUsageSchema,
  modelSeriesSchema,
  overviewQuerySchema,
  overviewSchema,
  spanSchema,
  tenantSeriesSchema,
  usageBreakdownQuerySchema,
  usageBreakdownSchema,
  usageCompactedSchema,
  usageDailyQuerySchema,
  usageFilterQuerySchema,
  usageKeysQuerySchema,
  usageLogDetailSchema,
  usageSeriesQuerySchema,
  usageSeriesSchema,
  usageTotalsQuerySchema,
  usageTotalsSchema,
} from "../../shared/schema/usage-reads.ts";
import { ROW_FIELDS_FOR_USERS } from "../../shared/usage/usage-row.ts";
import type { Access } from "../api/access.ts";
import { endpoint, type HandlerResult, type NoOtherField } from "../api/endpoint.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { compactUsage } from "./compact-usage.ts";
import { getKeySummary } from "./get-key-summary.ts";
import { getLogFacets } from "./get-log-facets.ts";
import { getOverview } from "./get-overview.ts";
import { getStats, statsSchema } from "./get-stats.ts";
import { getUsageLog } from "./get-usage-log.ts";
import { listCosts } from "./list-costs.ts";
import { listUsageHealth } from "./list-usage-health.ts";
import { listBreakdown, listDaily, listLogs, logPages } from "./named-reads.ts";
import { readCapture } from "./read-capture.ts";
import { getMonthSpend, listDailySpend } from "./spend-reads.ts";
import {
  getCacheUsage,
  getLogTotals,
  listKeySummaries,
  listKeyUsage,
  listModelSeries,
  listModelUsage,
  listSeries,
  listSpans,
  listTenantSeries,
  listTotals,
} from "./usage-reads.ts";

interface Read<Answer extends z.ZodType, R> {
  readonly path: string;
  readonly summary: string;
  readonly access?: Access;
  readonly query: z.ZodObject;
  readonly answer: Answer;
  readonly verb: (ctx: VerbContext, analytics: AnalyticsStore, input: unknown) => Promise<R>;
  /** The list can be had as CSV; `pages`: its rows page by page, else one page as the verb answers. */
  readonly csv?: {
    readonly filename: string;
    readonly pages?: (ctx: VerbContext, analytics: AnalyticsStore, input: unknown) => AsyncIterable<R>;
  };
}

/** One line of the table. Does not compile when the verb returns something other than the answer. */
function read<Answer extends z.ZodType, R extends HandlerResult<"read", Answer>>(
  line: Read<Answer, R> & NoOtherField<R, HandlerResult<"read", Answer>>,
): Read<z.ZodType, unknown> {
  return line;
}

const own = { user: "tenant in query" } as const;

/** What a tenant's people see of a request, in the order of a CSV file. */
const ROW_FIELDS_OF_USERS = [
  ...ROW_FIELDS_FOR_USERS,
  "tenant_name",
  "key_name",
  "key_prefix",
] as const satisfies readonly (keyof UsageLog)[];

const READS: readonly Read<z.ZodType, unknown>[] = [
  read({
    path: "/usage",
    summary: "Usage by tenant, key or model",
    access: own,
    query: usageTotalsQuerySchema,
    answer: z.array(usageTotalsSchema),
    verb: listTotals,
  }),
  read({
    path: "/usage/keys",
    summary: "Usage per key",
    access: own,
    query: usageKeysQuerySchema,
    answer: z.array(keyUsageSchema),
    verb: listKeyUsage,
  }),
  read({
    path: "/usage/keys/summary",
    summary: "Recent activity of every key",
    access: own,
    query: keySummariesQuerySchema,
    answer: z.array(keySummarySchema),
    verb: listKeySummaries,
  }),
  read({
    path: "/usage/models",
    summary: "Usage per model",
    access: own,
    query: usageModelsQuerySchema,
    answer: z.array(modelUsageSchema),
    verb: listModelUsage,
  }),
  read({
    path: "/usage/logs",
    summary: "List requests, newest first",
    access: { ...own, fields: ROW_FIELDS_OF_USERS },
    query: usageLogsQuerySchema,
    answer: z.array(usageLogSchema),
    verb: listLogs,
    csv: { filename: "usage-logs", pages: logPages },
  }),
  read({
    path: "/usage/logs/totals",
    summary: "Totals of the requests that match a filter",
    access: own,
    query: usageLogFilterSchema,
    answer: usageLogTotalsSchema,
    verb: getLogTotals,
  }),
  read({
    path: "/usage/logs/facets",
    summary: "Count the requests that match a filter over time, and by status, model, tenant, key, error and type",
    access: own,
    query: usageLogFacetsQuerySchema,
    answer: usageLogFacetsSchema,
    verb: getLogFacets,
  }),
  read({
    path: "/usage/daily",
    summary: "The daily rollup",
    access: own,
    query: usageDailyQuerySchema,
    answer: z.array(dailyUsageSchema),
    verb: listDaily,
    csv: { filename: "usage-daily" },
  }),
  read({
    path: "/usage/health",
    summary: "How requests ended and how fast they were, over time or by model, tenant or endpoint",
    access: own,
    query: usageHealthQuerySchema,
    answer: z.array(usageHealthSchema),
    verb: listUsageHealth,
    csv: { filename: "usage-health" },
  }),
  read({
    path: "/usage/series",
    summary: "Usage over time",
    access: own,
    query: usageSeriesQuerySchema,
    answer: z.array(usageSeriesSchema),
    verb: listSeries,
  }),
  read({
    path: "/usage/series/tenants",
    summary: "Usage over time per tenant",
    query: usageSeriesQuerySchema,
    answer: z.array(tenantSeriesSchema),
    verb: listTenantSeries,
  }),
  read({
    path: "/usage/series/models",
    summary: "Usage and speed over time per model",
    access: own,
    query: usageSeriesQuerySchema,
    answer: z.array(modelSeriesSchema),
    verb: listModelSeries,
  }),
  read({
    path: "/usage/breakdown",
    summary: "Spend per model and key",
    access: own,
    query: usageBreakdownQuerySchema,
    answer: z.array(usageBreakdownSchema),
    verb: listBreakdown,
    csv: { filename: "usage-breakdown" },
  }),
  read({
    path: "/usage/cache",
    summary: "What the response cache saved",
    access: own,
    query: usageFilterQuerySchema,
    answer: cacheUsageSchema,
    verb: getCacheUsage,
  }),
  read({
    path: "/costs",
    summary: "Spend per model",
    access: own,
    query: costsQuerySchema,
    answer: z.array(modelCostSchema),
    verb: listCosts,
  }),
  read({
    path: "/costs/daily",
    summary: "Spend per day, split by tenant, key, model, endpoint, end user or tag",
    access: own,
    query: dailySpendQuerySchema,
    answer: z.array(dailySpendSchema),
    verb: listDailySpend,
    csv: { filename: "costs-daily" },
  }),
  read({
    path: "/costs/months",
    summary: "Spend of this month beside the last one, with a forecast",
    access: own,
    query: monthSpendQuerySchema,
    answer: monthSpendSchema,
    verb: getMonthSpend,
  }),
  read({
    path: "/overview/summary",
    summary: "Summary of the configuration and of recent usage",
    access: { shared: true },
    query: overviewQuerySchema,
    answer: overviewSchema,
    verb: getOverview,
  }),
];

/** What a verb answers, as one page. */
function onePage(
  verb: Read<z.ZodType, unknown>["verb"],
): (...given: Parameters<typeof verb>) => AsyncIterable<unknown> {
  return async function* (...given) {
    yield await verb(...given);
  };
}

export function usageRoutes(app: Api, deps: ApiDeps & { readonly analytics: AnalyticsStore }): void {
  for (const { path, summary, access, query, answer, verb, csv } of READS) {
    const pages = csv?.pages ?? onePage(verb);
    endpoint(app, {
      kind: "read",
      method: "get",
      path: `/api/v1${path}`,
      summary,
      tag: "Usage",
      access,
      query,
      answer,
      ...(csv === undefined
        ? {}
        : { csv: { ...csv, pages: (call) => pages(call.ctx, deps.analytics.until(call.signal), call.query) } }),
      handler: async (call) => await verb(call.ctx, deps.analytics.until(call.signal), call.query),
    });
  }
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/usage/compact",
    summary: "Delete raw usage rows older than the retention period now",
    tag: "Usage",
    answer: usageCompactedSchema,
    handler: async ({ ctx }) => await compactUsage(ctx, deps.analytics, deps.usageRetentionDays),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/usage/logs/{request_id}",
    summary: "Read a request with its trace and model selection",
    tag: "Usage",
    access: { user: "tenant in answer", fields: ROW_FIELDS_OF_USERS },
    answer: usageLogDetailSchema,
    handler: async ({ ctx, path, signal }) => await getUsageLog(ctx, deps.analytics.until(signal), path.request_id),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/usage/logs/{request_id}/capture",
    summary: "Read the captured bodies of a request",
    description: "Each read is in the audit log. 404 when the request was not captured, or no longer is.",
    tag: "Usage",
    access: { hasSecrets: true },
    answer: captureSchema,
    handler: async ({ ctx, path, signal }) =>
      await readCapture(ctx, { ...deps, analytics: deps.analytics.until(signal) }, path.request_id),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/usage/logs/{request_id}/spans",
    summary: "Read the trace of a request",
    tag: "Usage",
    answer: z.array(spanSchema),
    handler: async ({ path, signal }) => await listSpans(deps.analytics.until(signal), path.request_id),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/keys/{id}/usage",
    summary: "Recent activity of a key",
    tag: "Usage",
    access: { user: "key in path" },
    query: keySummaryQuerySchema,
    answer: keySummarySchema,
    handler: async ({ ctx, path, query, signal }) =>
      await getKeySummary(ctx, deps.analytics.until(signal), path.id, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/stats",
    summary: "Live load of the cells",
    tag: "Load",
    access: { shared: true },
    query: z.object({ cell: z.string().optional() }),
    answer: statsSchema,
    reaches: "cell",
    handler: async ({ ctx, query }) => await getStats(ctx, deps.cell, deps.cells, deps.store, query),
  });
}
