/** How benchmarks are started, stopped and read (docs/rules/benchmarks.md). */
import { randomUUID } from "node:crypto";
import { and, desc, eq, gt, ne, notInArray } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import {
  type Benchmark,
  type BenchmarkDetail,
  benchmarkDetailSchema,
  benchmarkSchema,
  type StartBenchmark,
  startBenchmarkSchema,
} from "../../../shared/schema/benchmark.ts";
import { models } from "../../db/schema/models.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import { withIsoTimes } from "../../kernel/iso-times.ts";
import { fieldError, parse, parseId, refuseIfAny } from "../../kernel/parse.ts";
import { assistantSetting } from "../../kernel/settings/definitions.ts";
import { readSetting } from "../../kernel/settings/setting.ts";
import { whenStored } from "../../kernel/stored-key.ts";
import { write } from "../../kernel/write.ts";
import type { BenchmarkRuns } from "./benchmark-runs.ts";
import { makeTenant } from "./benchmark-tenant.ts";
import { type BenchmarkRow, benchmarks } from "./tables.ts";

/** How many are kept; older ones go when a new one begins. */
const KEPT = 50;
/** From the end of the load until nobody can be at work on it any more. */
const GRACE_MS = 30_000;

/** Starts one. Throws 400 beyond the bounds of the settings or for a model that cannot be asked, 409 while one runs, 503. */
export async function startBenchmark(
  ctx: VerbContext,
  runs: Pick<BenchmarkRuns, "start">,
  input: unknown,
): Promise<Written<Benchmark>> {
  const plan = parse(startBenchmarkSchema, input);
  await checkBounds(ctx, plan);
  const isEmbedding = await checkModel(ctx, plan.model);
  const id = randomUUID();
  let started = null as { readonly row: BenchmarkRow; readonly secret: string } | null;
  const written = await write(ctx, async (tx, journal) => {
    const now = ctx.now();
    const deadline = new Date(now.getTime() + plan.duration_secs * 1000 + GRACE_MS);
    const running = and(eq(benchmarks.state, "running"), gt(benchmarks.deadline, now));
    // Writes follow one another, so that no other one can begin between this look and the row.
    const [other] = await tx.select({ id: benchmarks.id }).from(benchmarks).where(running).limit(1);
    if (other !== undefined) throw new GatewayError("already_exists", { value: "a running benchmark" });
    const { tenantId, secret } = await makeTenant(ctx, tx, journal, { id, model: plan.model, deadline });
    const [row] = await tx
      .insert(benchmarks)
      .values({
        id,
        started_by: ctx.actor,
        plan,
        state: "running",
        tenant_id: tenantId,
        deadline,
        created_at: now,
        updated_at: now,
      })
      .returning();
    if (row === undefined) throw new GatewayError("internal_error");
    const newest = tx.select({ id: benchmarks.id }).from(benchmarks).orderBy(desc(benchmarks.created_at)).limit(KEPT);
    await tx.delete(benchmarks).where(and(notInArray(benchmarks.id, newest), ne(benchmarks.state, "running")));
    journal.audit({ action: "start_benchmark", entityType: "benchmark", entityId: id, detail: plan });
    started = { row, secret };
    // What a change returns is stored as the answer of its idempotency key: the secret must not be in it.
    return shown(row);
  });
  if (started === null) return written;
  try {
    await whenStored(ctx, written, started.secret);
  } catch (error) {
    // Nobody runs it: with its deadline it is over, and the sweep removes its tenant.
    await ctx.db.update(benchmarks).set({ deadline: ctx.now() }).where(eq(benchmarks.id, id));
    throw error;
  }
  runs.start(started.row, started.secret, isEmbedding);
  return written;
}

/** Asks for the end of one, which comes within some seconds; one that has ended stays as it is. Throws 404. */
export async function stopBenchmark(ctx: VerbContext, given: string): Promise<Written<Benchmark>> {
  const id = parseId(given);
  const { record, sync } = await write(ctx, async (tx, journal) => {
    const [row] = await tx
      .update(benchmarks)
      .set({ stop_requested: true, updated_at: ctx.now() })
      .where(eq(benchmarks.id, id))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    journal.audit({ action: "stop_benchmark", entityType: "benchmark", entityId: id });
    return row;
  });
  return { record: shown(record), sync };
}

/** The newest ones, without their points. Throws 503. */
export async function listBenchmarks({ db }: VerbContext): Promise<readonly Benchmark[]> {
  const rows = await withDatabaseErrors(async () =>
    db.select().from(benchmarks).orderBy(desc(benchmarks.created_at), desc(benchmarks.id)).limit(KEPT),
  );
  return rows.map(shown);
}

/** One with its points, while it runs and afterwards. Throws 404, 503. */
export async function getBenchmark({ db }: VerbContext, given: string): Promise<BenchmarkDetail> {
  const id = parseId(given);
  const [row] = await withDatabaseErrors(async () => db.select().from(benchmarks).where(eq(benchmarks.id, id)));
  if (row === undefined) throw new GatewayError("not_found");
  return benchmarkDetailSchema.parse(withIsoTimes(row));
}

async function checkBounds(ctx: VerbContext, plan: StartBenchmark): Promise<void> {
  const { value } = await readSetting(ctx, assistantSetting);
  const bounds = [
    ["concurrency", value.bench_max_concurrency],
    ["duration_secs", value.bench_max_duration_s],
    ["max_requests", value.bench_max_requests],
  ] as const;
  refuseIfAny(
    bounds.flatMap(([path, max]) =>
      plan[path] > max ? [{ path, message: `must be at most ${max} (limit in the assistant settings)` }] : [],
    ),
  );
}

/** True for an embedding model. */
async function checkModel({ db }: VerbContext, name: string): Promise<boolean> {
  const [model] = await withDatabaseErrors(async () => db.select().from(models).where(eq(models.model_name, name)));
  if (model === undefined || !model.enabled) throw fieldError("model", "must be the name of an enabled model");
  if (model.model_type !== "chat" && model.model_type !== "embedding")
    throw fieldError("model", "must be a chat or embedding model");
  return model.model_type === "embedding";
}

function shown(row: BenchmarkRow): Benchmark {
  return benchmarkSchema.parse(withIsoTimes(row));
}
