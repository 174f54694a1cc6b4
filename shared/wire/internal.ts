/**
 * The contract between the planes: the `/internal` routes of the Worker
 * (docs/rules/internal-traffic.md#internal-routes, docs/rules/freshness.md#publishing). Every route requires
 * `Authorization: Bearer <GATEWAY_INTERNAL_TOKEN>`; without it the answer is 404 `unknown endpoint`.
 */
import * as z from "zod";
import { alertEventSchema } from "../alerts.ts";
import { budgetSubjectSchema } from "./internal-budgets.ts";

export const INVALIDATION_KINDS = ["key", "tenant", "group", "model", "mcp", "settings", "all"] as const;

/** One changed record. `id`: key hash, tenant id, group name, model name, server name, settings name; `*` for `all`. */
export const revItemSchema = z.object({
  kind: z.enum(INVALIDATION_KINDS),
  id: z.string(),
  rev: z.number().int(),
});
export type RevItem = z.infer<typeof revItemSchema>;

/**
 * A changed record with the values that the Cell needs of it, as they were when it was published: they apply to waiting
 * requests at once (docs/rules/admission.md#checked-again). Absent: the record was removed, or the Cell uses no values
 * of its kind.
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
  model: z
    .object({
      max_in_flight: z.number().int().nullable(),
      admission_weight: z.number().int(),
      adaptive: z.object({ min: z.number().int(), max: z.number().int() }).nullable().default(null),
    })
    .optional(),
  /** Of a tenant or a key with a term budget: its limits, by which alerts are evaluated (docs/rules/budgets.md#alerts). */
  budget: budgetSubjectSchema.optional(),
});
export type Change = z.infer<typeof changeSchema>;

/** Body of `POST /internal/invalidate`; answered 204 once the cell has stored the revisions and applied the values. */
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
 * `POST /internal/alerts`: the position up to which the control service has the cell's alerts, from the answer before; null
 * at first. The cell deletes the alerts up to it and answers with the next ones.
 */
export const alertPullSchema = z.object({
  ack: z.object({ ledger: z.string(), through: z.number().int() }).nullable(),
});
export type AlertAck = NonNullable<z.infer<typeof alertPullSchema>["ack"]>;

/** The answer: the oldest waiting alerts, in order. `ledger` and `through` are sent back when these alerts have arrived. */
export const alertBatchSchema = z.object({
  /** Identifies this storage: sequence numbers of an earlier storage of the cell have no meaning here. */
  ledger: z.string(),
  through: z.number().int(),
  alerts: z.array(alertEventSchema),
  /** Number of alerts that were lost because there was no storage for them, since ever. */
  dropped: z.number().int(),
});
export type AlertBatch = z.infer<typeof alertBatchSchema>;

/**
 * Names the cell that an internal request is for: several may answer at one address. A Worker that does not know the cell
 * answers 404; without the header the request is for the Worker's own cell.
 */
export const CELL_HEADER = "x-gateway-cell";

/** Of the control service. `POST`: the key-value store was emptied; answered 202 at once. */
export const FILL_PATH = "/internal/fill";

/** Of the Worker. */
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
  /** `POST` and `GET`: shared/wire/batch-lines.ts */
  lines: "/internal/lines",
  /**
   * `POST` to one process of the runtime that stops: at the end of the body its requests are interrupted, and it answers 204 when
   * they are settled (docs/rules/local-stack.md#stop).
   */
  stop: "/internal/stop",
  /** shared/wire/internal-budgets.ts */
  budgetUsage: "/internal/budget/usage",
  budgetRebuild: "/internal/budget/rebuild",
} as const;
