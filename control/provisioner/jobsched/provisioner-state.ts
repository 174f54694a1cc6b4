/**
 * What the provisioner's reads leave in the database: when a tick last succeeded, for the watch
 * (docs/rules/managed-models.md#held-provisioner), and which of several provisioners may act
 * (docs/rules/managed-models.md#one-provisioner).
 */
import { and, eq, gt, sql } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import type { TICK_OUTCOMES } from "../../../shared/schema/settings/jobsched.ts";
import { takeLeases } from "../../db/leases.ts";
import { jobs } from "../../db/schema/jobs.ts";
import { provisionerState } from "../../db/schema/managed-models.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";

/** Three ticks: a provisioner that died is followed by another this much later at most. */
const LEASE_MS = 45_000;
const LEASE_NAME = "provisioner_tick";

interface TickReport {
  /** Of the tick before; null when there was none. */
  readonly outcome: (typeof TICK_OUTCOMES)[number] | null;
  readonly error: string | null;
}

/** Stores what a provisioner said of its previous tick. Throws 503. */
export async function recordTick(
  ctx: VerbContext,
  { outcome, error }: TickReport,
): Promise<{ readonly installationId: string }> {
  const now = ctx.now();
  const said =
    outcome === null
      ? {}
      : { last_outcome: outcome, last_error: error, ...(outcome === "ok" ? { last_ok_at: now } : {}) };
  const [row] = await withDatabaseErrors(async () =>
    ctx.db
      .insert(provisionerState)
      .values({ last_tick_at: now, ...said })
      .onConflictDoUpdate({ target: provisionerState.singleton, set: { last_tick_at: now, ...said } })
      .returning({ installationId: provisionerState.installation_id }),
  );
  if (row === undefined) throw new GatewayError("internal_error");
  return row;
}

/**
 * Whether this provisioner may act: it has the lease now. One that gives no name takes no lease, and may act while nobody
 * has it. Throws 503.
 */
export async function takeProvisionerLease({ db }: VerbContext, holder: string | undefined): Promise<boolean> {
  return await withDatabaseErrors(async () => {
    if (holder !== undefined)
      return (await takeLeases(db, { holder, names: [LEASE_NAME] }, LEASE_MS)).includes(LEASE_NAME);
    const held = await db
      .select({ name: jobs.name })
      .from(jobs)
      .where(and(eq(jobs.name, LEASE_NAME), gt(jobs.until, sql`now()`)));
    return held.length === 0;
  });
}
