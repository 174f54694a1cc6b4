import { describe, expect, it } from "vitest";
import type { CountedEvent } from "../../domain/cell/event-counters.ts";
import { CellEventCounter } from "./cell-event-counter.ts";

const tally = (server: string) => ({ metric: "gateway_mcp_requests_total" as const, labels: [server, "2xx"] });

function setUp() {
  const sent: { readonly batch: readonly CountedEvent[]; readonly done: PromiseWithResolvers<void> }[] = [];
  const pending: Promise<unknown>[] = [];
  const state = { nowMs: 0, sent, pending };
  const tallies = new CellEventCounter(
    async (batch) => {
      const done = Promise.withResolvers<void>();
      sent.push({ batch, done });
      await done.promise;
    },
    () => state.nowMs,
    (work) => pending.push(work),
  );
  return { tallies, state };
}

describe("events to be counted", () => {
  it("are sent together while a call is under way", async () => {
    const { tallies, state } = setUp();
    for (const server of ["a", "b", "a"]) tallies.count(tally(server));
    expect(state.sent.map(({ batch }) => batch)).toEqual([[{ ...tally("a"), times: 1 }]]);
    state.sent[0]?.done.resolve();
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.sent[1]?.batch).toEqual([
      { ...tally("b"), times: 1 },
      { ...tally("a"), times: 1 },
    ]);
    state.sent[1]?.done.resolve();
    await Promise.all(state.pending);
    tallies.count(tally("c"));
    expect(state.sent).toHaveLength(3);
  });

  it("are counted as often as they say", async () => {
    const { tallies, state } = setUp();
    tallies.count([{ ...tally("a"), times: 3 }]);
    tallies.count([
      { ...tally("b"), times: 2 },
      { ...tally("b"), times: 5 },
    ]);
    state.sent[0]?.done.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.sent.map(({ batch }) => batch)).toEqual([
      [{ ...tally("a"), times: 3 }],
      [{ ...tally("b"), times: 7 }],
    ]);
  });

  it("are still sent after a call that fails, and after one that never ends", async () => {
    const { tallies, state } = setUp();
    tallies.count(tally("a"));
    state.sent[0]?.done.reject(new Error("no cell"));
    await Promise.all(state.pending);
    tallies.count(tally("b"));
    state.nowMs = 5001;
    tallies.count(tally("c"));
    expect(state.sent.map(({ batch }) => batch.map(({ labels }) => labels[0]))).toEqual([["a"], ["b"], ["c"]]);
  });
});
