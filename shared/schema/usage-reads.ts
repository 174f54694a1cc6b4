/**
 * Aggregated usage and cost reads: their queries and rows (docs/rules/usage-reads.md#shapes,
 * docs/rules/usage-reads.md#money).
 */
import * as z from "zod";
import { forOperators } from "../fields/operator-fields.ts";
import { isCalendarDay } from "../time/timestamp.ts";
import { NIL_UUID } from "../usage/usage-row.ts";
import { oneOf, timezone, whenValid } from "./common.ts";
import { notServed, usageFilterFields, usageLogSchema } from "./usage.ts";

/** A whole number of at least 1; a larger one than `max` becomes `max`. */
export const limit = (fallback: number, max: number) =>
  z
    .string()
    .regex(/^[1-9]\d{0,14}$/, "must be a whole number of at least 1")
    .prefault(String(fallback))
    .transform((value) => Math.min(Number(value), max));

export const bucketMs = (usual: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,14}$/, "must be a whole number of milliseconds")
    .prefault(usual)
    .transform(Number);

const day = z
  .string()
  .trim()
  .refine(isCalendarDay, "must be a valid date in the form YYYY-MM-DD")
  .meta({ format: "date" });

const keyList = z
  .string()
  .transform((text) => text.split(",").map((id) => id.trim().toLowerCase()))
  .refine((ids) => ids.every((id) => z.guid().safeParse(id).success), "must be UUIDs separated by commas")
  .refine((ids) => ids.length <= 500, "must be at most 500 UUIDs");

const { since_ms, tenant_id, include_internal } = usageFilterFields;

/**
 * Groups by values that clients state in a request; only single requests have them
 * (docs/rules/usage-reads.md#groups-of-clients).
 */
export const CLIENT_GROUPS = ["end_user", "tag"] as const;

export const tag_name = z
  .string()
  .regex(/^[\w.-]{1,64}$/, "must be the name of a tag")
  .optional()
  .meta({ description: "With group_by=tag: the tag whose values are the groups" });

export const tagIsNamed = {
  check: (query: { readonly group_by: string; readonly tag_name?: string | undefined }): boolean =>
    (query.group_by === "tag") === (query.tag_name !== undefined),
  params: {
    message: "must be given with group_by=tag, and only with it",
    path: ["tag_name"],
    when: whenValid("group_by", "tag_name"),
  },
};

/** Query of GET /usage. */
export const usageTotalsQuerySchema = z
  .object({
    ...usageFilterFields,
    group_by: oneOf(["tenant", "key", "model", ...CLIENT_GROUPS]).prefault("tenant"),
    tag_name,
    limit: limit(1_000, 10_000),
  })
  .refine(tagIsNamed.check, tagIsNamed.params);
export type UsageTotalsQuery = z.infer<typeof usageTotalsQuerySchema>;

/** Query of GET /usage/keys. */
export const usageKeysQuerySchema = z.object({ ...usageFilterFields, limit: limit(1_000, 10_000) });
export type UsageKeysQuery = z.infer<typeof usageKeysQuerySchema>;

/** Query of GET /usage/keys/summary. */
export const keySummariesQuerySchema = z.object({ since_ms, tenant_id, include_internal, limit: limit(1_000, 10_000) });
export type KeySummariesQuery = z.infer<typeof keySummariesQuerySchema>;

/** Query of GET /keys/{id}/usage. */
export const keySummaryQuerySchema = z.object({ since_ms, include_internal });

/** Query of GET /usage/series and its siblings. */
export const usageSeriesQuerySchema = z.object({ ...usageFilterFields, bucket_ms: bucketMs("300000") });
export type UsageSeriesQuery = z.infer<typeof usageSeriesQuerySchema>;

/** Days by the clock of a zone (docs/rules/usage-reads.md#days-of-a-zone). */
export const dayFields = {
  start_day: day.optional(),
  end_day: day.optional(),
  timezone: timezone.optional().meta({ description: "IANA time zone in which days start and end, default UTC" }),
};

type Period = Readonly<
  Partial<Record<"since_ms" | "until_ms", number | undefined> & Record<keyof typeof dayFields, string | undefined>>
>;

/** A period is named by instants or by days, not by both. */
export const oneKindOfPeriod = {
  check: ({ since_ms: since, until_ms: until, start_day, end_day, timezone: zone }: Period): boolean =>
    [since, until].every((value) => value === undefined) ||
    [start_day, end_day, zone].every((value) => value === undefined),
  params: {
    message: "cannot be combined with start_day, end_day or timezone",
    path: ["since_ms"],
    when: whenValid("since_ms", "until_ms", "start_day", "end_day", "timezone"),
  },
};

/** Query of GET /usage/breakdown. */
export const usageBreakdownQuerySchema = z
  .object({
    ...usageFilterFields,
    ...dayFields,
    group_by: oneOf(["key_model", ...CLIENT_GROUPS]).prefault("key_model"),
    tag_name,
    limit: limit(100, 1_000),
  })
  .refine(oneKindOfPeriod.check, oneKindOfPeriod.params)
  .refine(tagIsNamed.check, tagIsNamed.params);
export type UsageBreakdownQuery = z.infer<typeof usageBreakdownQuerySchema>;

/** Query of GET /usage/cache. */
export const usageFilterQuerySchema = z.object(usageFilterFields);
export type UsageFilterQuery = z.infer<typeof usageFilterQuerySchema>;

/** Query of GET /overview/summary. */
export const overviewQuerySchema = z.object({ since_ms, include_internal });
export type OverviewQuery = z.infer<typeof overviewQuerySchema>;

const DAILY_GROUPS = ["day", "tenant", "key", "model", "key_model", "endpoint", ...CLIENT_GROUPS] as const;
export type DailyGroup = (typeof DAILY_GROUPS)[number];

/** Whose usage a read by days is about. */
export const dailyFilter = {
  tenant_id,
  key_id: keyList.optional(),
  model: usageFilterFields.model,
  include_internal,
  tag_name,
};

/** Query of GET /usage/daily. */
export const usageDailyQuerySchema = z
  .object({ ...dayFields, ...dailyFilter, group_by: oneOf(DAILY_GROUPS).prefault("day") })
  .refine(tagIsNamed.check, tagIsNamed.params);
export type UsageDailyQuery = z.infer<typeof usageDailyQuerySchema>;

export const count = z.number().int();
const errors = count.meta({ description: "Requests with a status of 400 or higher" });
export const usdField = () => z.number().meta({ description: "USD, rounded to 9 decimals" });
export const usd = usdField();
const totals = { requests: count, input_tokens: count, output_tokens: count, total_tokens: count, cost_usd: usd };
export const clientGroup = {
  end_user: z.string().meta({ description: "Empty if not grouped by end user, or if the client names none" }),
  tag_value: z
    .string()
    .meta({ description: "Value of the tag `tag_name`. Empty if not grouped by it, or without the tag" }),
};
export const energy = { energy_wh: z.number(), energy_cost_usd: forOperators(usdField()), co2_g: z.number() };

/** A row of GET /usage: it has the fields that the read groups by, not the others. */
export const usageTotalsSchema = z
  .object({
    tenant_id: z.string().optional(),
    key_id: z.string().optional(),
    model: z.string().optional(),
    end_user: z.string().optional(),
    tag_value: z.string().optional(),
    ...totals,
    errors,
    ...notServed,
  })
  .meta({ id: "UsageTotals" });
export type UsageTotals = z.infer<typeof usageTotalsSchema>;

export const keyUsageSchema = z
  .object({ key_id: z.string(), tenant_id: z.string(), ...totals, errors, ...notServed })
  .meta({ id: "KeyUsage" });
export type KeyUsage = z.infer<typeof keyUsageSchema>;

export const keySummarySchema = z
  .object({
    key_id: z.string(),
    tenant_id: z.string(),
    /** 0 when it was not used within the retention. */
    last_used_ms: count,
    last_model: z.string(),
    last_status_code: count,
    ...totals,
    ...energy,
  })
  .meta({ id: "KeySummary" });
export type KeySummary = z.infer<typeof keySummarySchema>;

export const usageSeriesSchema = z
  .object({
    bucket_ms: count,
    errors: count,
    ...notServed,
    ...totals,
    avg_ttft_ms: z.number(),
    p50_ttft_ms: z.number(),
  })
  .meta({ id: "UsageBucket" });
export type UsageBucket = z.infer<typeof usageSeriesSchema>;

export const tenantSeriesSchema = z
  .object({ tenant_id: z.string(), bucket_ms: count, requests: count, total_tokens: count, cost_usd: usd })
  .meta({ id: "TenantUsageBucket" });
export type TenantUsageBucket = z.infer<typeof tenantSeriesSchema>;

export const modelSeriesSchema = z
  .object({
    model: z.string(),
    bucket_ms: count,
    requests: count,
    total_tokens: count,
    gen_tokens_per_sec: z.number(),
    prompt_tokens_per_sec: z.number(),
    avg_ttft_ms: z.number(),
    p50_ttft_ms: z.number(),
    avg_total_ms: z.number(),
    p50_total_ms: z.number(),
  })
  .meta({ id: "ModelUsageBucket" });
export type ModelUsageBucket = z.infer<typeof modelSeriesSchema>;

export const usageBreakdownSchema = z
  .object({
    model: z.string(),
    key_id: z.string(),
    tenant_id: z.string(),
    ...clientGroup,
    ...totals,
    success_requests: count.meta({
      description:
        "Requests with a status of 2xx or 3xx. If there are more than `cache_hits` and the cost is 0, no price was set",
    }),
    error_requests: errors,
    ...notServed,
    cache_hits: count.meta({ description: "Requests answered by the response cache, at no cost" }),
    ...energy,
    gen_tokens_per_sec: z.number(),
    tenant_name: z.string(),
    fairshare_group: forOperators(z.string()),
    key_name: z.string(),
    key_prefix: z.string(),
  })
  .meta({ id: "UsageBreakdown" });
export type UsageBreakdown = z.infer<typeof usageBreakdownSchema>;

const cacheCounts = { hits: count, misses: count, tokens_saved: count };
export const cacheUsageSchema = z
  .object({
    ...cacheCounts,
    hit_ratio: z.number(),
    by_model: z.array(z.object({ model: z.string(), ...cacheCounts })),
  })
  .meta({ id: "CacheUsage" });
export type CacheUsage = z.infer<typeof cacheUsageSchema>;

export const overviewSchema = z
  .object({
    requests: count,
    tokens: count,
    cost: usd,
    has_pricing: z.boolean(),
    tenant_count: count,
    active_tenants: count,
    model_count: count,
    enabled_models: count,
    down_models: count.meta({ description: "Enabled models that are down and not in maintenance" }),
    key_count: count,
  })
  .meta({ id: "OverviewSummary" });
export type Overview = z.infer<typeof overviewSchema>;

const percentile = z
  .number()
  .nullable()
  .meta({ description: "From 2xx and 3xx rows of the last 400 days, within 1%. Null if there were none" });

/** The percentiles of a time. */
export const percentiles = <const Name extends string>(name: Name) =>
  ({ [`p50_${name}`]: percentile, [`p95_${name}`]: percentile, [`p99_${name}`]: percentile }) as Record<
    `p50_${Name}` | `p95_${Name}` | `p99_${Name}`,
    typeof percentile
  >;

export const endpointName = forOperators(
  z.string().meta({
    description:
      "Name of the endpoint of `model` that was called last. Empty: its own base URL, no call (then without a model), or not grouped by it",
  }),
);
export const dailyNames = {
  tenant_name: z.string().meta({
    description: "Name of the tenant, or of the key's tenant. Empty if it was deleted or rows are not grouped by it",
  }),
  key_name: z.string().meta({ description: "Name of the key. Empty if it was deleted or rows are not grouped by key" }),
  key_prefix: z.string(),
};

export const dailyUsageSchema = z
  .object({
    day: z.string().meta({ description: "YYYY-MM-DD. Empty if not grouped by day" }),
    tenant_id: z.string().meta({ description: `${NIL_UUID} if not grouped by tenant` }),
    key_id: z.string().meta({ description: `${NIL_UUID} if not grouped by key` }),
    model: z.string(),
    endpoint: endpointName,
    ...clientGroup,
    ...dailyNames,
    requests: count,
    success_requests: count,
    error_requests: count,
    ...notServed,
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    estimated_tokens: count,
    cache_hits: count,
    cache_misses: count,
    avg_ttft_ms: z.number(),
    avg_total_ms: z.number(),
    ...percentiles("ttft_ms"),
    ...percentiles("total_ms"),
    ...percentiles("queue_wait_ms"),
    cost_usd: usd,
    ...energy,
  })
  .meta({ id: "DailyUsage" });
export type DailyUsage = z.infer<typeof dailyUsageSchema>;
/** What the ledger knows of a row: names are not in it. */
export type DailySums = Omit<DailyUsage, keyof typeof dailyNames>;

export const spanSchema = z
  .object({
    request_id: z.string(),
    span_name: z.string(),
    parent_span: z.string(),
    start_ms: z.number(),
    duration_ms: z.number(),
    status: z.string(),
    attributes: z.string().meta({ description: "Attributes as JSON text" }),
  })
  .meta({ id: "Span" });
export type Span = z.infer<typeof spanSchema>;

/** Why the auto router chose a model (docs/rules/auto-router.md#explanation). */
const autoRouteSchema = z
  .object({
    chosen: z.string().nullable().meta({ description: "Model that was chosen. Null: none could be" }),
    source: z.string().meta({ description: "Source of the tags: classifier, heuristic or none" }),
    tags: z.array(z.string()),
    candidates: z.array(z.object({ model: z.string(), score: z.number() })).meta({ description: "Best first" }),
    excluded: z
      .array(z.object({ model: z.string(), condition: z.string() }))
      .meta({ description: "Models that were excluded, each with the first condition it does not meet" }),
  })
  .meta({ id: "AutoRoute" });
export type AutoRoute = z.infer<typeof autoRouteSchema>;

/** Answer of GET /usage/logs/{request_id}. */
export const usageLogDetailSchema = z
  .object({
    ...usageLogSchema.shape,
    spans: z.array(spanSchema).meta({ description: "Empty if the request was not traced" }),
    auto_route: autoRouteSchema.nullable().meta({ description: "Null: the client named the model" }),
  })
  .meta({ id: "UsageLogDetail" });
export type UsageLogDetail = z.infer<typeof usageLogDetailSchema>;

/** Answer of POST /usage/compact; partitions of rows and of spans are counted together. */
export const usageCompactedSchema = z
  .object({ retention_days: count, partitions_dropped: count })
  .meta({ id: "UsageCompacted" });
export type UsageCompacted = z.infer<typeof usageCompactedSchema>;
