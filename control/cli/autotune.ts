/**
 * `gateway models autotune`
 */
import type { Command } from "commander";
import { findModel, toNumber } from "./arguments.ts";
import { CliError, sessionOf } from "./session.ts";

interface AutotuneOptions {
  readonly targetP99?: number;
  readonly maxConcurrency?: number;
  readonly apply?: true;
  readonly adaptive?: true;
}

const COLUMNS = ["concurrency", "throughput_rps", "p50_ms", "p99_ms", "requests", "errors"] as const;

export function autotuneCommand(models: Command): void {
  models
    .command("autotune <model>")
    .description("find a model's best concurrency with real load on its upstream, for up to 60 seconds")
    .option("--target-p99 <ms>", "p99 latency target in ms, default 2000", toNumber)
    .option("--max-concurrency <count>", "highest concurrency to try, default 64, at most 256", toNumber)
    .option("--apply", "set the recommended capacity")
    .option("--adaptive", "start the mode adaptive at the recommended capacity")
    .action(async (model: string, options: AutotuneOptions, command: Command) => {
      const session = sessionOf(command);
      const { id, model_name } = await findModel(session, model);
      const { targetP99, maxConcurrency, apply, adaptive } = options;
      const params = { path: { id } };
      const body = {
        ...(targetP99 === undefined ? {} : { target_p99_ms: targetP99 }),
        ...(maxConcurrency === undefined ? {} : { max_concurrency: maxConcurrency }),
      };
      const report = await session.bodyOf(session.client.POST("/api/v1/models/{id}/autotune", { params, body }));
      const { recommended_max_in_flight: most, knee_reason } = report;
      session.listIn(report, report.steps, COLUMNS);
      session.say(`recommended concurrency: ${most} (${knee_reason})`);
      if (apply === undefined && adaptive === undefined) return;
      if (knee_reason === "no_data") throw new CliError("nothing was set: no request succeeded");
      const applied = { max_in_flight: most, capacity_mode: adaptive ? "adaptive" : "tuned" } as const;
      await session.bodyOf(session.client.POST("/api/v1/models/{id}/autotune/apply", { params, body: applied }));
      session.say(`model '${model_name}' ${adaptive ? "starts at" : "has"} max concurrency ${most} now`);
    });
}
