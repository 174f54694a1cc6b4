/**
 * Leases by name in the table `jobs`. A lease belongs to one holder until it expires by the database's clock, so that
 * leases work across replicas and behind a connection pooler (docs/rules/jobs.md#one-replica-at-a-time).
 */
import { and, eq, inArray, sql } from "drizzle-orm";
import type { Database } from "./connect.ts";
import { jobs } from "./schema/jobs.ts";

interface LeaseRequest {
  /** Who takes the leases; leases that it holds already are prolonged. */
  readonly holder: string;
  /** At least one. */
  readonly names: readonly string[];
}

/** Takes the leases that are free; returns the names that the holder has now. Rejects when the database does not answer. */
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

/** Releases the leases that the holder has. Rejects when the database does not answer. */
export async function releaseLeases(db: Database, { holder, names }: LeaseRequest): Promise<void> {
  await db.delete(jobs).where(and(eq(jobs.holder, holder), inArray(jobs.name, [...names])));
}
