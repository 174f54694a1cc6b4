import fc from "fast-check";
import { expect, it } from "vitest";
import { readJob } from "./job.ts";

const phaseOf = (states: unknown): readonly unknown[] => {
  const job = readJob({ job_id: 7, job_state: states });
  return [job?.phase, job?.live];
};

it.each([
  [["PENDING"], "pending", true],
  ["PENDING", "pending", true],
  [["RUNNING"], "running", true],
  [["CONFIGURING", "RUNNING"], "pending", true],
  [["SUSPENDED"], "pending", true],
  [["COMPLETING"], "running", true],
  [["COMPLETING", "COMPLETED"], "gone", false],
  [["COMPLETED"], "gone", false],
  [["CANCELLED", "COMPLETING"], "gone", false],
  [["RUNNING", "NODE_FAIL"], "gone", true],
  [["PREEMPTED"], "gone", false],
  [["TELEPORTING"], "gone", true],
])("%j is %s", (states, phase, live) => {
  expect(phaseOf(states)).toEqual([phase, live]);
});

it.each([
  null,
  1,
  [],
  {},
  { job_id: 0, job_state: ["RUNNING"] },
  { job_id: 1.5, job_state: ["RUNNING"] },
  { job_id: 1, job_state: [] },
])("reads no job out of %j", (entry) => {
  expect(readJob(entry)).toBeNull();
});

it("reads anything without throwing, and texts that a database holds", () => {
  fc.assert(
    fc.property(
      fc.record({ job_id: fc.anything(), job_state: fc.anything(), nodes: fc.anything(), comment: fc.anything() }),
      (entry) => {
        const job = readJob(entry);
        if (job !== null)
          for (const text of [job.nodes, job.comment, job.state]) expect(text.isWellFormed()).toBe(true);
      },
    ),
  );
  expect(readJob({ job_id: 1, job_state: ["RUNNING"], nodes: "n1 n2", state_reason: "a\u0000\nb" })).toMatchObject({
    nodes: "n1",
    reason: "a b",
  });
});
