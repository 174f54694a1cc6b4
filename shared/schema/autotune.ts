/**
 * Capacity auto-tune on the Management API (docs/rules/autotune.md#report).
 */
import * as z from "zod";
import { whole } from "./common.ts";

const CONCURRENCY_MAX = 256;

/** POST /models/{id}/autotune. A concurrency above the maximum becomes the maximum. */
export const autotuneSchema = z
  .object({
    target_p99_ms: whole(1, 600_000).default(2000),
    max_concurrency: whole(1)
      .transform((count) => Math.min(count, CONCURRENCY_MAX))
      .default(64),
  })
  .meta({ id: "Autotune" });

const autotuneStepSchema = z.object({
  concurrency: z.number().int(),
  throughput_rps: z.number(),
  p50_ms: z.number().nullable().meta({ description: "Null if no request of the step was answered" }),
  p99_ms: z.number().nullable(),
  requests: z.number().int(),
  errors: z.number().int().meta({ description: "Requests without a 2xx response in time" }),
});

export const autotuneReportSchema = z
  .object({
    model_id: z.string(),
    model_name: z.string(),
    modality: z.enum(["chat", "embedding"]),
    target_p99_ms: z.number().int(),
    max_concurrency: z.number().int(),
    recommended_max_in_flight: z.number().int(),
    recommended_throughput_rps: z.number(),
    knee_reason: z.enum(["slo_breach", "plateau", "max_concurrency", "no_data"]),
    steps: z.array(autotuneStepSchema),
    duration_ms: z.number().int(),
  })
  .meta({ id: "AutotuneReport" });
export type AutotuneReport = z.infer<typeof autotuneReportSchema>;
