/**
 * Benchmarks that this process runs (docs/rules/benchmarks.md): the load of each, what is measured of it in its row, and the
 * end, after which its tenant is gone. What a killed process leaves behind is removed by {@link BenchmarkRuns.sweep}.
 */
import { randomUUID } from "node:crypto";
import { and, eq, isNotNull, lte, or } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import type { VerbContext } from "../../kernel/context.ts";
import type { Logger } from "../../kernel/log.ts";
import { failureLevel } from "../../kernel/store-watch.ts";
import { removeTenant } from "./benchmark-tenant.ts";
import { type BenchmarkSample, pointsOf, resultOf } from "./figures.ts";
import { runLoad } from "./run-load.ts";
import { requestSender } from "./send-request.ts";
import { type BenchmarkRow, benchmarks } from "./tables.ts";

interface BenchmarkRunsOptions {
  /** As `system`. */
  readonly ctx: VerbContext;
  /** The data plane, without a slash at its end. */
  readonly baseUrl: string;
  readonly log: Logger;
}

const SAVED_EVERY_MS = 1000;

export class BenchmarkRuns {
  readonly #options: BenchmarkRunsOptions;
  readonly #running = new Map<string, { readonly stop: AbortController; readonly ended: Promise<void> }>();

  constructor(options: BenchmarkRunsOptions) {
    this.#options = options;
  }

  /** Begins the load of a benchmark whose row and tenant are there. */
  start(row: BenchmarkRow, secret: string, isEmbedding: boolean): void {
    const stop = new AbortController();
    const ended = this.#run(row, secret, isEmbedding, stop)
      .catch((error: unknown) => this.#failed({ event: "benchmark_not_ended", benchmark: row.id }, error))
      .finally(() => this.#running.delete(row.id));
    this.#running.set(row.id, { stop, ended });
  }

  /** Stops what runs here, and resolves when its tenants are gone. */
  async stop(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { stop } of running) stop.abort();
    await Promise.all(running.map(async ({ ended }) => await ended));
  }

  /** Removes what processes have left behind that ended without a word. Rejects when the database does not answer. */
  async sweep(): Promise<{ readonly lost: number }> {
    const { ctx } = this.#options;
    const over = and(
      lte(benchmarks.deadline, ctx.now()),
      or(isNotNull(benchmarks.tenant_id), eq(benchmarks.state, "running")),
    );
    const left = await ctx.db.select().from(benchmarks).where(over);
    for (const row of left) {
      await removeTenant(ctx, row);
      const lost = row.state === "running" ? { state: "lost" as const, ended_at: ctx.now() } : {};
      await ctx.db
        .update(benchmarks)
        .set({ tenant_id: null, ...lost })
        .where(eq(benchmarks.id, row.id));
    }
    return { lost: left.length };
  }

  async #run(row: BenchmarkRow, secret: string, isEmbedding: boolean, stop: AbortController): Promise<void> {
    const { ctx, baseUrl } = this.#options;
    const { id, plan } = row;
    const beganMs = performance.now();
    const nowMs = (): number => performance.now() - beganMs;
    const samples: BenchmarkSample[] = [];
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), plan.duration_secs * 1000);
    const saving = setInterval(() => void this.#save(id, samples, nowMs(), stop), SAVED_EVERY_MS);
    try {
      await runLoad({
        concurrency: plan.concurrency,
        maxRequests: plan.max_requests,
        send: requestSender({ baseUrl, secret, plan, isEmbedding, nonce: randomUUID, nowMs }),
        nowMs,
        signal: AbortSignal.any([stop.signal, over.signal]),
        onSample: (sample) => samples.push(sample),
      });
    } finally {
      clearTimeout(timer);
      clearInterval(saving);
    }
    const durationMs = nowMs();
    // Another process may have asked for the end: then the row says so, and `stop` was aborted because of it. One that was
    // called lost meanwhile stays so.
    const state = stop.signal.aborted ? "stopped" : "done";
    await removeTenant(ctx, row);
    await ctx.db
      .update(benchmarks)
      .set({
        state,
        tenant_id: null,
        points: pointsOf(samples, durationMs + SAVED_EVERY_MS),
        result: resultOf(samples, durationMs),
        ended_at: ctx.now(),
      })
      .where(and(eq(benchmarks.id, id), eq(benchmarks.state, "running")));
  }

  #failed(line: object, error: unknown): void {
    this.#options.log[failureLevel(error)]({ ...line, reason: rootCause(error) });
  }

  /** Shows what was measured so far, and looks whether somebody wants the end. A failure is made good a second later. */
  async #save(id: string, samples: readonly BenchmarkSample[], untilMs: number, stop: AbortController): Promise<void> {
    const { db } = this.#options.ctx;
    try {
      const [row] = await db
        .update(benchmarks)
        .set({ points: pointsOf(samples, untilMs), result: resultOf(samples, untilMs) })
        .where(and(eq(benchmarks.id, id), eq(benchmarks.state, "running")))
        .returning({ stop_requested: benchmarks.stop_requested });
      // Without a row it was called lost, and another one may have begun.
      if (row === undefined || row.stop_requested) stop.abort();
    } catch (error) {
      if (!(error instanceof Error) || error instanceof GatewayError) return;
      this.#failed({ event: "benchmark_not_saved", benchmark: id }, error);
    }
  }
}
