/**
 * The heartbeat of an active Cell: when it samples, saves and ends, and that after a failure it still starts for the
 * next request.
 */
import { describe, expect, it } from "vitest";
import { Heartbeat } from "./heartbeat.ts";

function beating() {
  const waiting: (() => void)[] = [];
  const did: string[] = [];
  const state = { seated: 0, diskFails: false, failures: 0, passed: 0 };
  const write = (what: string) => {
    if (state.diskFails) throw new Error("the disk is full");
    did.push(what);
  };
  const heartbeat = new Heartbeat({
    later: (_delayMs, run) => waiting.push(run),
    sample: () => did.push("sample"),
    passed: () => {
      state.passed += 1;
    },
    report: async () => {
      did.push("report");
    },
    save: () => write("save"),
    rest: () => write("rest"),
    entryCount: () => state.seated,
    failed: () => {
      state.failures += 1;
    },
  });
  /** Lets this many beats pass, and runs all immediate effects of each. */
  const beats = async (count: number) => {
    for (let beat = 0; beat < count; beat += 1) {
      waiting.shift()?.();
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
  };
  return { heartbeat, waiting, did, state, beats };
}

describe("the heartbeat of a Cell", () => {
  it("samples at once and at each beat, saves and reports at the fifth, and stops when idle", async () => {
    const { heartbeat, waiting, did, state, beats } = beating();
    heartbeat.wake();
    heartbeat.wake();
    expect({ did, passed: state.passed }).toEqual({ did: ["sample"], passed: 0 });
    await beats(5);
    expect(state.passed).toBe(5);
    expect(did).toEqual([...Array.from({ length: 6 }, () => "sample"), "save", "report", "save", "rest"]);
    expect(waiting).toHaveLength(0);
  });

  it("continues while a request is entered", async () => {
    const { heartbeat, waiting, did, state, beats } = beating();
    state.seated = 1;
    heartbeat.wake();
    await beats(10);
    expect(did.filter((what) => what === "report")).toHaveLength(2);
    expect(did).not.toContain("rest");
    expect(waiting).toHaveLength(1);
  });

  it("continues until a scrape has seen what was counted, at most for two minutes", async () => {
    const beatsUntilRest = async (scrapedAfter: number): Promise<number> => {
      const { heartbeat, waiting, beats } = beating();
      heartbeat.counted();
      let count = 0;
      for (; waiting.length > 0; count += 1) {
        if (count === scrapedAfter) heartbeat.scraped();
        await beats(1);
      }
      return count;
    };
    expect({ scraped: await beatsUntilRest(12), unscraped: await beatsUntilRest(1000) }).toEqual({
      scraped: 15,
      unscraped: 60,
    });
  });

  it("tries a failed disk again with the next report, and starts again after its end", async () => {
    const { heartbeat, waiting, did, state, beats } = beating();
    state.diskFails = true;
    heartbeat.wake();
    await beats(5);
    expect(state.failures).toBe(1);
    expect(waiting).toHaveLength(1);
    state.diskFails = false;
    await beats(5);
    expect(did.slice(-4)).toEqual(["save", "report", "save", "rest"]);
    expect(waiting).toHaveLength(0);
    heartbeat.wake();
    expect(waiting).toHaveLength(1);
  });
});
