/**
 * Leases by name in the table `jobs`: each is one holder's until it runs out, by the database's clock, so that they
 * work over replicas and behind a connection pooler (docs/rules/jobs.md#one-replica-at-a-time).
 */
import { and, eq, inArray, sql } from "drizzle-orm";
import type { Database } from "./connect.ts";
import { jobs } from "./schema/jobs.ts";

interface LeaseRequest {
  /** Who asks; what it holds already is prolonged. */
  readonly holder: string;
  /** At least one. */
  readonly names: readonly string[];
}

/** Takes what is free; answers what is held now. Rejects when the database does not answer. */
export async function takeLeases(
  db: Database,
  { holder, names }: LeaseRequest,
  forMs: number,
): Promise<readonly string[]> {
  const until = sql`now() + ${forMs} * interval '1 millisecond'`;
  const taken = await db
    .insert(jobs)
    .values([...names].sort().map((name) => ({ name, holder, until })))
    .onConflictDoUpdate({
      target: jobs.name,
      set: { holder, until },
      setWhere: sql`${jobs.holder} = ${holder} OR ${jobs.until} <= now()`,
    })
    .returning({ name: jobs.name });
  return taken.map(({ name }) => name);
}

/** Lets go of them, as far as they are held. Rejects when the database does not answer. */
export async function releaseLeases(db: Database, { holder, names }: LeaseRequest): Promise<void> {
  await db.delete(jobs).where(and(eq(jobs.holder, holder), inArray(jobs.name, [...names])));
}
