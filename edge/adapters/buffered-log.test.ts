import { describe, expect, it } from "vitest";
import { BufferedLog } from "./buffered-log.ts";

function logWith(now: { ms: number }) {
  const written: string[][] = [];
  const timers: (() => void)[] = [];
  const kept: Promise<unknown>[] = [];
  const log = new BufferedLog({
    gatherMs: 20,
    clock: () => now.ms,
    later: (_, run) => void timers.push(run),
    keepAlive: (work) => void kept.push(work),
    write: (text) => void written.push(text.split("\n").map((line) => JSON.parse(line).event)),
  });
  return { log, written, timers, kept };
}

describe("the buffered log", () => {
  it("writes ordinary lines together, and keeps its request alive until then", async () => {
    const { log, written, timers, kept } = logWith({ ms: 0 });
    log.event("a", {}, "info");
    log.event("b", {}, "info");
    expect({ written, timerCount: timers.length, keptCount: kept.length }).toEqual({
      written: [],
      timerCount: 1,
      keptCount: 1,
    });
    timers[0]?.();
    await Promise.all(kept);
    expect(written).toEqual([["a", "b"]]);
    log.event("c", {}, "info");
    expect(timers.length).toBe(2);
  });

  it.each(["warn", "error"] as const)("does not keep a line of level %s, nor the lines before it", (level) => {
    const { log, written } = logWith({ ms: 0 });
    log.event("a", {}, "info");
    log.event("b", {}, level);
    expect(written).toEqual([["a", "b"]]);
  });

  it("keeps at most its maximum of lines", () => {
    const { log, written } = logWith({ ms: 0 });
    for (let line = 0; line < 600; line += 1) log.event("a", {}, "info");
    expect(written.map((lines) => lines.length)).toEqual([256, 256]);
  });

  it("starts a new flush when the request that was to flush was cut off", () => {
    const now = { ms: 0 };
    const { log, written, timers } = logWith(now);
    log.event("a", {}, "info");
    now.ms = 1_021;
    log.event("b", {}, "info");
    expect(timers.length).toBe(2);
    timers[1]?.();
    expect(written).toEqual([["a", "b"]]);
  });
});
