/** Group commit under any order of arrivals, failures and acknowledgements. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { BATCH_MAX_ROWS, GroupCommit, WAITING_MAX_ROWS } from "./group-commit.ts";
import { shardOf, usageRowLine } from "./row-line.ts";

const row = zeroUsageRow("00000000-0000-0000-0000-000000000001", 0);

const event = fc.oneof(
  fc.record({ type: fc.constant("add" as const), orphan: fc.boolean(), count: fc.integer({ min: 1, max: 700 }) }),
  fc.record({ type: fc.constantFrom("start" as const, "done" as const, "failed" as const) }),
);

describe("group commit", () => {
  it("acknowledges every row once, in order, and sends a failed batch again unchanged", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const commit = new GroupCommit<number>();
        const acknowledged: number[] = [];
        let tickets = 0;
        let sequence = 0;
        let flying = false;
        const finish = () => {
          acknowledged.push(...commit.done().map((entry) => entry.ticket));
          flying = false;
        };
        const start = () => {
          const batch = commit.start();
          if (batch === null) return;
          expect(flying).toBe(false);
          expect(batch.sequence).toBe(sequence + 1);
          expect(batch.rows.length).toBeLessThanOrEqual(BATCH_MAX_ROWS);
          expect(batch.rows.every((entry) => entry.orphan === batch.orphan)).toBe(true);
          sequence = batch.sequence;
          flying = true;
        };
        for (const step of events) {
          if (step.type === "add") {
            for (let at = 0; at < step.count; at += 1) {
              tickets += 1;
              expect(commit.add({ ticket: tickets, row, orphan: step.orphan })).toBe(true);
            }
          } else if (step.type === "start") start();
          else if (flying && step.type === "done") finish();
          else if (flying) expect(commit.failed()).toBeLessThanOrEqual(5_000);
        }
        while (!commit.idle) {
          start();
          finish();
        }
        expect(acknowledged).toEqual(Array.from({ length: tickets }, (_, at) => at + 1));
      }),
      { numRuns: 100 },
    );
  });

  it("refuses what exceeds its bound and keeps what it took", () => {
    const commit = new GroupCommit<number>();
    for (let ticket = 1; ticket <= WAITING_MAX_ROWS; ticket += 1) commit.add({ ticket, row, orphan: false });
    expect(commit.add({ ticket: 0, row, orphan: false })).toBe(false);
    expect(commit.waiting).toBe(WAITING_MAX_ROWS);
  });
});

describe("a row as a line", () => {
  it("measures what it will be on the wire, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (model) => {
        const line = usageRowLine({ ...row, model });
        expect(line.bytes).toBe(new TextEncoder().encode(line.json).length);
        expect(line.json).not.toContain("\n");
        expect(JSON.parse(line.json)).toMatchObject({ ts: "1970-01-01 00:00:00.000", model });
      }),
    );
  });

  it("goes to the same shard at every attempt, and to each shard in turn", () => {
    const shards = Array.from({ length: 400 }, (_, at) => shardOf(`request-${at}`, 4));
    expect(shards).toEqual(Array.from({ length: 400 }, (_, at) => shardOf(`request-${at}`, 4)));
    expect(new Set(shards)).toEqual(new Set([0, 1, 2, 3]));
  });
});
