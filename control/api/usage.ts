/**
 * Usage, cost and load reads (specification "Usage and cost reads").
 */
import { z } from "zod";
import {
  modelUsageSchema,
  usageLogSchema,
  usageLogsQuerySchema,
  usageModelsQuerySchema,
} from "../../shared/schema/usage.ts";
import {
  cacheUsageSchema,
  dailyUsageSchema,
  keySummariesQuerySchema,
  keySummaryQuerySchema,
  keySummarySchema,
  keyUsageSchema,
  modelCostSchema,
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
  usageSeriesQuerySchema,
  usageSeriesSchema,
  usageTotalsQuerySchema,
  usageTotalsSchema,
} from "../../shared/schema/usage-reads.ts";
import type { AnalyticsStore } from "../analytics/store.ts";
import type { VerbContext } from "../kernel/context.ts";
import { getStats, statsSchema } from "../services/stats/get-stats.ts";
import { compactUsage } from "../services/usage/compact-usage.ts";
import { getKeySummary } from "../services/usage/get-key-summary.ts";
import { getOverview } from "../services/usage/get-overview.ts";
import { listBreakdown } from "../services/usage/list-breakdown.ts";
import { listCosts } from "../services/usage/list-costs.ts";
import { listLogs } from "../services/usage/list-logs.ts";
import { listSpans } from "../services/usage/list-spans.ts";
import {
  getCacheUsage,
  listDaily,
  listKeySummaries,
  listKeyUsage,
  listModelSeries,
  listModelUsage,
  listSeries,
  listTenantSeries,
  listTotals,
} from "../services/usage/usage-reads.ts";
import { endpoint, written } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

interface Read {
  readonly path: string;
  readonly summary: string;
  readonly query: z.ZodType;
  readonly answer: z.ZodType;
  readonly verb: (ctx: VerbContext, analytics: AnalyticsStore, input: unknown) => Promise<unknown>;
}

const list = (row: z.ZodType): z.ZodType => z.array(row);

const READS: readonly Read[] = [
  {
    path: "/usage",
    summary: "Usage by tenant, key or model",
    query: usageTotalsQuerySchema,
    answer: list(usageTotalsSchema),
    verb: listTotals,
  },
  {
    path: "/usage/keys",
    summary: "Usage per key",
    query: usageKeysQuerySchema,
    answer: list(keyUsageSchema),
    verb: listKeyUsage,
  },
  {
    path: "/usage/keys/summary",
    summary: "Recent activity of every key",
    query: keySummariesQuerySchema,
    answer: list(keySummarySchema),
    verb: listKeySummaries,
  },
  {
    path: "/usage/models",
    summary: "Usage per model",
    query: usageModelsQuerySchema,
    answer: list(modelUsageSchema),
    verb: listModelUsage,
  },
  {
    path: "/usage/logs",
    summary: "List requests, newest first",
    query: usageLogsQuerySchema,
    answer: list(usageLogSchema),
    verb: listLogs,
  },
  {
    path: "/usage/daily",
    summary: "The daily rollup",
    query: usageDailyQuerySchema,
    answer: list(dailyUsageSchema),
    verb: listDaily,
  },
  {
    path: "/usage/series",
    summary: "Usage over time",
    query: usageSeriesQuerySchema,
    answer: list(usageSeriesSchema),
    verb: listSeries,
  },
  {
    path: "/usage/series/tenants",
    summary: "Usage over time per tenant",
    query: usageSeriesQuerySchema,
    answer: list(tenantSeriesSchema),
    verb: listTenantSeries,
  },
  {
    path: "/usage/series/models",
    summary: "Usage and speed over time per model",
    query: usageSeriesQuerySchema,
    answer: list(modelSeriesSchema),
    verb: listModelSeries,
  },
  {
    path: "/usage/breakdown",
    summary: "Spend per model and key",
    query: usageBreakdownQuerySchema,
    answer: list(usageBreakdownSchema),
    verb: listBreakdown,
  },
  {
    path: "/usage/cache",
    summary: "What the response cache saved",
    query: usageFilterQuerySchema,
    answer: cacheUsageSchema,
    verb: getCacheUsage,
  },
  {
    path: "/costs",
    summary: "Spend per model",
    query: usageFilterQuerySchema,
    answer: list(modelCostSchema),
    verb: listCosts,
  },
  {
    path: "/overview/summary",
    summary: "What is configured, and what was used lately",
    query: overviewQuerySchema,
    answer: overviewSchema,
    verb: getOverview,
  },
];

export function usageRoutes(app: Api, deps: ApiDeps): void {
  for (const { path, summary, query, answer, verb } of READS) {
    endpoint(app, {
      method: "get",
      path: `/api/v1${path}`,
      summary,
      tag: "Usage",
      query: query as z.ZodObject,
      answer,
      handler: async (c) => c.json((await verb(c.var.ctx, deps.analytics, c.req.query())) as object),
    });
  }
  endpoint(app, {
    method: "post",
    path: "/api/v1/usage/compact",
    summary: "Prune the raw ledger to the retention window now",
    tag: "Usage",
    answer: usageCompactedSchema,
    handler: async (c) => written(c, await compactUsage(c.var.ctx, deps.analytics, deps.usageRetentionDays)),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/usage/logs/{request_id}/spans",
    summary: "The trace of a request",
    tag: "Usage",
    answer: z.array(spanSchema),
    handler: async (c) => c.json((await listSpans(deps.analytics, c.req.param("request_id") ?? "")) as object[]),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/keys/{id}/usage",
    summary: "Recent activity of a key",
    tag: "Usage",
    query: keySummaryQuerySchema,
    answer: keySummarySchema,
    handler: async (c) =>
      c.json(await getKeySummary(c.var.ctx, deps.analytics, c.req.param("id") ?? "", c.req.query())),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/stats",
    summary: "Live load of the cells",
    tag: "Load",
    query: z.object({ cell: z.string().optional() }),
    answer: statsSchema,
    reaches: "cell",
    handler: async (c) => c.json(await getStats(c.var.ctx, deps.cell, deps.cells, deps.store, c.req.query())),
  });
}
