/** Benchmarks on the Management API (docs/rules/benchmarks.md). */
import * as z from "zod";
import { requiredText, timestamp, whole } from "./common.ts";

/** POST /benchmarks. The settings of the assistant bound the first three further. */
export const startBenchmarkSchema = z
  .object({
    model: requiredText(300).meta({ description: "The name of an enabled chat or embedding model" }),
    concurrency: whole(1, 256).default(8).meta({ description: "Number of concurrent requests" }),
    duration_secs: whole(1, 600).default(30),
    max_requests: whole(1, 20_000).default(200),
    prompt_tokens: whole(1, 32_000)
      .default(64)
      .meta({ description: "Approximate number of prompt tokens in each request" }),
    max_tokens: whole(1, 4096)
      .default(64)
      .meta({ description: "Maximum length of each response; ignored for embeddings" }),
  })
  .meta({ id: "StartBenchmark" });
export type StartBenchmark = z.output<typeof startBenchmarkSchema>;

/** The requested values, with defaults for the others. */
const planSchema = z.object({
  model: z.string(),
  concurrency: z.number().int(),
  duration_secs: z.number().int(),
  max_requests: z.number().int(),
  prompt_tokens: z.number().int(),
  max_tokens: z.number().int(),
});

const ms = z.number().nullable();

/** What ended within one second of a benchmark. */
const benchmarkPointSchema = z.object({
  at_ms: z.number().int().meta({ description: "End of this second, in ms since the first request" }),
  requests: z.number().int(),
  errors: z.number().int(),
  p50_ms: ms,
  p95_ms: ms,
  ttft_p50_ms: ms,
  output_tokens: z.number().int(),
});
export type BenchmarkPoint = z.infer<typeof benchmarkPointSchema>;

/** The figures of a whole benchmark; null: nothing that they could be of. */
const benchmarkResultSchema = z.object({
  requests: z.number().int().meta({ description: "Completed or failed; requests cut off at the end are not counted" }),
  errors: z.number().int().meta({ description: "Requests without a complete 2xx response" }),
  duration_ms: z.number().int(),
  throughput_rps: z.number().meta({ description: "Successful requests per second" }),
  p50_ms: ms,
  p95_ms: ms,
  p99_ms: ms,
  ttft_p50_ms: ms,
  ttft_p95_ms: ms,
  output_tokens: z.number().int(),
  output_tokens_per_sec: z.number(),
  statuses: z.record(z.string(), z.number().int()).meta({ description: "Responses by status; 0: no response" }),
});
export type BenchmarkResult = z.infer<typeof benchmarkResultSchema>;

/** A benchmark in the list. */
export const benchmarkSchema = z
  .object({
    id: z.string(),
    started_by: z.string(),
    plan: planSchema,
    state: z
      .enum(["running", "done", "stopped", "lost"])
      .meta({ description: "`lost`: the process that ran the benchmark died" }),
    result: benchmarkResultSchema.nullable().meta({ description: "While the benchmark runs, the figures so far" }),
    created_at: timestamp,
    ended_at: timestamp.nullable(),
  })
  .meta({ id: "Benchmark" });
export type Benchmark = z.infer<typeof benchmarkSchema>;

/** One benchmark, with its measurements second by second. */
export const benchmarkDetailSchema = benchmarkSchema
  .extend({ points: z.array(benchmarkPointSchema) })
  .meta({ id: "BenchmarkDetail" });
export type BenchmarkDetail = z.infer<typeof benchmarkDetailSchema>;
