/** Routes of benchmarks: a bounded load through the data plane (docs/rules/benchmarks.md). */
import { z } from "zod";
import { benchmarkDetailSchema, benchmarkSchema, startBenchmarkSchema } from "../../../shared/schema/benchmark.ts";
import { endpoint } from "../../api/endpoint.ts";
import type { Api } from "../../api/types.ts";
import type { BenchmarkRuns } from "./benchmark-runs.ts";
import { getBenchmark, listBenchmarks, startBenchmark, stopBenchmark } from "./benchmark-verbs.ts";

const tag = "Load";
const at = "/api/v1/benchmarks";

/** Start, stop, list, one. */
export function benchmarkRoutes(app: Api, { benchmarks }: { readonly benchmarks: Pick<BenchmarkRuns, "start"> }): void {
  endpoint(app, {
    kind: "create",
    method: "post",
    path: at,
    summary: "Start a benchmark of a model through the data plane",
    description:
      "Sends real requests, which use slots and tokens, as a temporary tenant that is excluded from usage. The assistant settings limit it; one benchmark runs at a time.",
    tag,
    body: startBenchmarkSchema,
    answer: benchmarkSchema,
    handler: async ({ ctx, body }) => await startBenchmark(ctx, benchmarks, body),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: at,
    summary: "List the last 50 benchmarks, newest first",
    tag,
    answer: z.array(benchmarkSchema),
    handler: async ({ ctx }) => await listBenchmarks(ctx),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: `${at}/{id}`,
    summary: "Read a benchmark's figures per second, even while it runs",
    tag,
    answer: benchmarkDetailSchema,
    handler: async ({ ctx, path }) => await getBenchmark(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: `${at}/{id}/stop`,
    summary: "Stop a benchmark and keep its figures",
    tag,
    answer: benchmarkSchema,
    handler: async ({ ctx, path }) => await stopBenchmark(ctx, path.id),
  });
}
