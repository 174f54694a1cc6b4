/** The pulse of an active Cell: when it samples, saves and ends, and that no failure leaves it deaf to the next request. */
import { describe, expect, it } from "vitest";
import { Heartbeat } from "./heartbeat.ts";

function beating() {
  const waiting: (() => void)[] = [];
  const did: string[] = [];
  const state = { seated: 0, diskFails: false, failures: 0 };
  const write = (what: string) => {
    if (state.diskFails) throw new Error("the disk is full");
    did.push(what);
  };
  const pulse = new Heartbeat({
    later: (_delayMs, run) => waiting.push(run),
    sample: () => did.push("sample"),
    report: async () => {
      did.push("report");
    },
    save: () => write("save"),
    rest: () => write("rest"),
    seated: () => state.seated,
    failed: () => {
      state.failures += 1;
    },
  });
  /** Lets so many waiting beats happen, and all that follows at once from each. */
  const beats = async (count: number) => {
    for (let beat = 0; beat < count; beat += 1) {
      waiting.shift()?.();
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
  };
  return { pulse, waiting, did, state, beats };
}

describe("the pulse of a Cell", () => {
  it("samples at once and every beat, saves and reports with the fifth, and ends when nobody is seated", async () => {
    const { pulse, waiting, did, beats } = beating();
    pulse.wake();
    pulse.wake();
    expect(did).toEqual(["sample"]);
    await beats(5);
    expect(did).toEqual([...Array.from({ length: 6 }, () => "sample"), "save", "report", "save", "rest"]);
    expect(waiting).toHaveLength(0);
  });

  it("goes on while somebody is seated", async () => {
    const { pulse, waiting, did, state, beats } = beating();
    state.seated = 1;
    pulse.wake();
    await beats(10);
    expect(did.filter((what) => what === "report")).toHaveLength(2);
    expect(did).not.toContain("rest");
    expect(waiting).toHaveLength(1);
  });

  it("tries a disk that failed again with the next report, and wakes anew after its end", async () => {
    const { pulse, waiting, did, state, beats } = beating();
    state.diskFails = true;
    pulse.wake();
    await beats(5);
    expect(state.failures).toBe(1);
    expect(waiting).toHaveLength(1);
    state.diskFails = false;
    await beats(5);
    expect(did.slice(-4)).toEqual(["save", "report", "save", "rest"]);
    expect(waiting).toHaveLength(0);
    pulse.wake();
    expect(waiting).toHaveLength(1);
  });
});
