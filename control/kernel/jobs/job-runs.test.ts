import { pino } from "pino";
import { expect, it } from "vitest";
import { JobRuns } from "./job-runs.ts";

/** Lines written at the level that the service runs with, and the runs that they report. */
function watched(): { readonly runs: JobRuns; readonly lines: () => readonly Record<string, unknown>[] } {
  const written: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void written.push(line) });
  const runs = new JobRuns({ replica: "a", log });
  return { runs, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it("reports what a run did and how long it took, in one line", () => {
  const { runs, lines } = watched();
  const hourly = { name: "usage_retention", everyMs: 3_600_000 };
  runs.report(hourly, { outcome: "ok", durationMs: 12.4, result: { days: 3, rows: 0, tables: ["usage_raw"] } });
  runs.report({ name: "outbox", everyMs: 1000 }, { outcome: "ok", durationMs: 7, result: 5 });
  const line = { level: 30, event: "job_run", replica: "a", outcome: "ok" };
  expect(lines()).toEqual([
    { ...line, job: "usage_retention", duration_ms: 12, days: 3, rows: 0 },
    { ...line, job: "outbox", duration_ms: 7, count: 5 },
  ]);
});

it("reports the cause of a failure, without the statement that failed", () => {
  const { runs, lines } = watched();
  const cause = Object.assign(new Error('relation "tenants" does not exist'), { code: "42P01" });
  const error = new Error("Failed query: select secret from where\nparams: secret", { cause });
  runs.report({ name: "alerts", everyMs: 3000 }, { outcome: "failed", durationMs: 1, error });
  const reason = 'SQLSTATE 42P01: relation "tenants" does not exist';
  expect(lines()).toMatchObject([{ level: 40, outcome: "failed", reason }]);
  expect(JSON.stringify(lines())).not.toContain("secret");
});

it("does not log a frequent job that finds nothing to do, but counts it", async () => {
  const { runs, lines } = watched();
  const often = { name: "outbox", everyMs: 1000 };
  runs.declare(often);
  for (const result of [undefined, 0, { alerts: 0 }]) runs.report(often, { outcome: "ok", durationMs: 1, result });
  runs.report({ name: "hourly", everyMs: 3_600_000 }, { outcome: "ok", durationMs: 1, result: undefined });
  expect(lines().map((line) => line["job"])).toEqual(["hourly"]);
  const { values } = await runs.counter.get();
  expect(values.map(({ labels, value }) => [labels.name, labels.outcome, value])).toEqual([
    ["outbox", "ok", 3],
    ["outbox", "failed", 0],
    ["hourly", "ok", 1],
  ]);
});
