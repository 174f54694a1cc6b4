/**
 * The contract between the planes: the `/internal` routes of the Worker (decisions §0.4, §32.4). Every route requires
 * `Authorization: Bearer <GATEWAY_INTERNAL_TOKEN>`; without it the answer is 404 `unknown endpoint`.
 */
import * as z from "zod";
import { alertEventSchema } from "./alerts.ts";

export const INVALIDATION_KINDS = ["key", "tenant", "group", "model", "mcp", "settings", "all"] as const;

/** One changed record. `id`: key hash, tenant id, group name, model name, server name, settings name; `*` for `all`. */
export const revItemSchema = z.object({
  kind: z.enum(INVALIDATION_KINDS),
  id: z.string(),
  rev: z.number().int(),
});
export type RevItem = z.infer<typeof revItemSchema>;

/**
 * A changed record with what the Cell needs of it, as it was when it was published: effective on waiting requests at once
 * (decisions §20.4). Absent: the record is gone, or the Cell knows nothing of its kind.
 */
const changeSchema = revItemSchema.extend({
  tenant: z
    .object({
      weight: z.number().int(),
      max_in_flight: z.number().int().nullable(),
      group: z.object({ name: z.string(), weight: z.number().int() }),
    })
    .optional(),
  group: z.object({ weight: z.number().int() }).optional(),
  model: z.object({ max_in_flight: z.number().int().nullable(), admission_weight: z.number().int() }).optional(),
});
export type Change = z.infer<typeof changeSchema>;

/** `POST /internal/invalidate`: body; answered 204 once the cell has stored the revs and applied the values. */
export const invalidateBodySchema = z.object({ items: z.array(changeSchema).min(1).max(10_000) });

/** `GET /internal/stats` */
export const cellStatsSchema = z.object({
  cell: z.string(),
  in_flight: z.number().int(),
  queued: z.number().int(),
  max_in_flight: z.number().int(),
});
export type CellStats = z.infer<typeof cellStatsSchema>;

/** A metric as a cell reports it; a histogram reports its samples with the suffixes `_bucket`, `_sum`, `_count`. */
const metricFamilySchema = z.object({
  name: z.string(),
  help: z.string(),
  type: z.enum(["counter", "gauge", "histogram"]),
  samples: z.array(
    z.object({
      suffix: z.enum(["", "_bucket", "_sum", "_count"]).default(""),
      labels: z.record(z.string(), z.string()),
      value: z.number(),
    }),
  ),
});
export type MetricFamily = z.infer<typeof metricFamilySchema>;

/** `GET /internal/metrics` */
export const cellMetricsSchema = z.object({ cell: z.string(), families: z.array(metricFamilySchema) });
export type CellMetrics = z.infer<typeof cellMetricsSchema>;

/**
 * `POST /internal/alerts`: what the control service has of the cell's alerts, from the answer before; null at first. They
 * leave the cell with this, and the next are answered.
 */
export const alertPullSchema = z.object({
  ack: z.object({ ledger: z.string(), through: z.number().int() }).nullable(),
});
export type AlertAck = NonNullable<z.infer<typeof alertPullSchema>["ack"]>;

/** The answer: the oldest that wait, in order. `ledger` and `through` say so when they have arrived. */
export const alertBatchSchema = z.object({
  /** Sets this storage apart from any earlier one of the cell, whose sequence numbers mean nothing here. */
  ledger: z.string(),
  through: z.number().int(),
  alerts: z.array(alertEventSchema),
  /** Alerts lost for want of room, since ever. */
  dropped: z.number().int(),
});
export type AlertBatch = z.infer<typeof alertBatchSchema>;

/**
 * Names the cell that an internal request is for: several may answer at one address. A Worker that does not know it answers
 * 404; without the header it is the Worker's own.
 */
export const CELL_HEADER = "x-gateway-cell";

export const INTERNAL_PATHS = {
  invalidate: "/internal/invalidate",
  stats: "/internal/stats",
  metrics: "/internal/metrics",
  /** `PUT` with the body of `PUT /api/v1/capacity`; answers the cell's stats. */
  capacity: "/internal/capacity",
  /** `GET`; answers FairshareLive. */
  live: "/internal/fairshare/live",
  /** `GET ?since_ms=`; answers an array of FairshareSample. */
  history: "/internal/fairshare/history",
  alerts: "/internal/alerts",
  /** shared/internal-budgets.ts */
  budgetUsage: "/internal/budget/usage",
  budgetRebuild: "/internal/budget/rebuild",
} as const;
