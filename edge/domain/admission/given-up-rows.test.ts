/** The rows of requests that were given up, when their Cell is reset before they are written. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AdmissionHarness } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import { GivenUpRowsInMemory } from "../../../test/harness/edge/cell/given-up-rows-in-memory.ts";

/** How long a row waits for its request, ms. */
const ROW_WAITS_MS = 6_000;

beforeEach(() => vi.useFakeTimers());

async function pass(world: AdmissionHarness, ms: number): Promise<void> {
  world.nowMs += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

const nextLifeOf = (givenUpRows: GivenUpRowsInMemory): AdmissionHarness =>
  new AdmissionHarness("weighted", 1, undefined, { later: (ms, run) => void setTimeout(run, ms), givenUpRows });

/** A request that ran, and was given up by a Cell that was reset 1 s later. */
async function lostRequest() {
  const givenUpRows = new GivenUpRowsInMemory();
  let isOver = false;
  const later = (ms: number, run: () => void): void => void setTimeout(() => (isOver ? undefined : run()), ms);
  const first = new AdmissionHarness("weighted", 1, undefined, { later, givenUpRows });
  const request = admissionRequestOf("one", "t", {}, {});
  first.ask(request);
  await pass(first, 0);
  first.admission.giveUp("one");
  await pass(first, 1_000);
  isOver = true;
  return { request, givenUpRows, next: nextLifeOf(givenUpRows), first };
}

const rowsOf = ({ rows }: AdmissionHarness) => rows.map((row) => [row.request_id, row.status_code, row.total_tokens]);

describe("a request that was given up before its Cell was reset", () => {
  it("has its row, at the estimate that it was charged", async () => {
    const { first, next, givenUpRows } = await lostRequest();
    await pass(next, ROW_WAITS_MS);
    expect({ first: rowsOf(first), next: rowsOf(next), orphans: next.orphans, kept: givenUpRows.all }).toEqual({
      first: [],
      next: [["one", 499, 10]],
      orphans: ["one"],
      kept: [],
    });
  });

  it("has its own row alone when it comes back", async () => {
    const { next, request, givenUpRows } = await lostRequest();
    next.admission.comeBack({ ...request, waitedMs: 0 }, "isolate");
    await pass(next, ROW_WAITS_MS);
    await next.end({ request }, 4, { status_code: 200, total_tokens: 4 });
    await pass(next, ROW_WAITS_MS);
    expect({ rows: rowsOf(next), kept: givenUpRows.all }).toEqual({ rows: [["one", 200, 4]], kept: [] });
  });

  it("has its own row alone when it has ended meanwhile", async () => {
    const { next, request, givenUpRows } = await lostRequest();
    await next.end({ request }, 4, { status_code: 200, total_tokens: 4 });
    await pass(next, ROW_WAITS_MS);
    expect({ rows: rowsOf(next), kept: givenUpRows.all }).toEqual({ rows: [["one", 200, 4]], kept: [] });
  });

  it("has its row once when it is given up again", async () => {
    const { next, request, givenUpRows } = await lostRequest();
    next.admission.comeBack({ ...request, waitedMs: 0 }, "isolate");
    await pass(next, 5_000);
    next.admission.giveUp("one");
    await pass(next, 1_500);
    expect(givenUpRows.all).toHaveLength(1);
    await pass(next, ROW_WAITS_MS);
    expect({ rows: rowsOf(next), kept: givenUpRows.all }).toEqual({ rows: [["one", 499, 10]], kept: [] });
  });

  it("keeps its row until the Ledger has it", async () => {
    const { next, givenUpRows } = await lostRequest();
    next.hasRoom = false;
    await pass(next, ROW_WAITS_MS);
    expect(givenUpRows.all).toHaveLength(1);
    const last = nextLifeOf(givenUpRows);
    await pass(last, ROW_WAITS_MS);
    expect(rowsOf(last)).toEqual([["one", 499, 10]]);
  });
});
