import { eq, sql } from "drizzle-orm";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { jobs } from "../../db/schema/jobs.ts";
import { JobLeases } from "./job-leases.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});

afterAll(async () => await control.close());

/** A replica with a clock of its own. */
function replica(holder: string, names: readonly string[]): { leases: JobLeases; clock: { ms: number } } {
  const clock = { ms: 1000 };
  const log = pino({ level: "silent" });
  return { leases: new JobLeases(control.connection.db, { holder, names, nowMs: () => clock.ms, log }), clock };
}

/** Lets a lease expire by the database's clock. */
async function runOut(name: string): Promise<void> {
  await control.connection.db
    .update(jobs)
    .set({ until: sql`now() - interval '1 millisecond'` })
    .where(eq(jobs.name, name));
}

describe("leases of jobs", () => {
  it("are held by one replica, however often both try", async () => {
    const [first, second] = [replica("a", ["one-1", "one-2"]), replica("b", ["one-1", "one-2"])];
    expect(first.leases.holds("one-1")).toBe(false);
    await Promise.all([first.leases.renew(), second.leases.renew()]);
    await Promise.all([first.leases.renew(), second.leases.renew()]);
    for (const name of ["one-1", "one-2"])
      expect([first.leases.holds(name), second.leases.holds(name)].filter(Boolean)).toHaveLength(1);
  });

  it("end by the holder's own clock before another replica gets them", async () => {
    const [first, second] = [replica("a", ["ends"]), replica("b", ["ends"])];
    await first.leases.renew();
    first.clock.ms += 5999;
    expect(first.leases.holds("ends")).toBe(true);
    first.clock.ms += 1;
    expect(first.leases.holds("ends")).toBe(false);
    await second.leases.renew();
    expect(second.leases.holds("ends")).toBe(false);
    await runOut("ends");
    await second.leases.renew();
    expect(second.leases.holds("ends")).toBe(true);
    await first.leases.renew();
    expect(first.leases.holds("ends")).toBe(false);
  });

  it("pass to a process of the same name at once, and are free once their holder has ended", async () => {
    const [before, after, other] = [replica("a", ["freed"]), replica("a", ["freed"]), replica("b", ["freed"])];
    await before.leases.renew();
    await after.leases.renew();
    expect(after.leases.holds("freed")).toBe(true);
    const end = after.leases.start();
    await end();
    expect(after.leases.holds("freed")).toBe(false);
    const endOther = other.leases.start();
    try {
      await waitFor(
        () => other.leases.holds("freed"),
        (holds) => holds,
      );
    } finally {
      await endOther();
    }
  });
});
