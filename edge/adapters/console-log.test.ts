import { describe, expect, it } from "vitest";
import type { LogFields } from "../ports.ts";
import { BufferedLog, logLine, SampledLog } from "./console-log.ts";

it("a line of the Worker's log contains no raw control character, whatever a client sent", () => {
  const name = 'a\r\n\u001b[31m\u007f\u009b2J\u2028{"level":10}\u202e';
  const line = logLine("request", { model: name }, 30, "2030-01-01T00:00:00.000Z");
  expect(line).toMatch(/^[^\p{Cc}\u2028\u202e]*$/u);
  expect(JSON.parse(line)).toMatchObject({ event: "request", model: name });
});

function bufferedLog(now: { ms: number }) {
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
    const { log, written, timers, kept } = bufferedLog({ ms: 0 });
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
    const { log, written } = bufferedLog({ ms: 0 });
    log.event("a", {}, "info");
    log.event("b", {}, level);
    expect(written).toEqual([["a", "b"]]);
  });

  it("keeps at most its maximum of lines", () => {
    const { log, written } = bufferedLog({ ms: 0 });
    for (let line = 0; line < 600; line += 1) log.event("a", {}, "info");
    expect(written.map((lines) => lines.length)).toEqual([256, 256]);
  });

  it("starts a new flush when the request that was to flush was cut off", () => {
    const now = { ms: 0 };
    const { log, written, timers } = bufferedLog(now);
    log.event("a", {}, "info");
    now.ms = 1_021;
    log.event("b", {}, "info");
    expect(timers.length).toBe(2);
    timers[1]?.();
    expect(written).toEqual([["a", "b"]]);
  });
});

function sampledLog(perSecond: number) {
  const now = { ms: 1_000_000 };
  const lines: { name: string; sampled?: unknown; status?: unknown }[] = [];
  const inner = { event: (name: string, { status, sampled }: LogFields) => void lines.push({ name, status, sampled }) };
  const log = new SampledLog(inner, () => now.ms, perSecond);
  const requests = (count: number, status = 200): void => {
    for (let at = 0; at < count; at += 1) log.event("request", { status }, "info");
  };
  const sum = () => lines.reduce((all, { sampled }) => all + 1 + Number(sampled ?? 0), 0);
  return { now, lines, log, requests, sum };
}

describe("the sampled log", () => {
  it("writes every line up to the rate of a second, and one of 100 above it", () => {
    const { now, lines, requests, sum } = sampledLog(10);
    requests(10);
    expect({ lines: lines.length, sampled: lines.filter(({ sampled }) => sampled !== undefined).length }).toEqual({
      lines: 10,
      sampled: 0,
    });
    requests(250);
    expect({ lines: lines.length, sum: sum() }).toEqual({ lines: 12, sum: 210 });
    now.ms += 1_000;
    requests(1);
    expect({ last: lines.at(-1), sum: sum() }).toEqual({
      last: { name: "request", status: 200, sampled: 50 },
      sum: 261,
    });
  });

  it.each([429, 499, 502])("writes the line of every request with status %i", (status) => {
    const { lines, requests, sum } = sampledLog(1);
    requests(5);
    requests(3, status);
    expect({ written: lines.map((line) => [line.status, line.sampled]), sum: sum() }).toEqual({
      written: [
        [200, undefined],
        [status, 4],
        [status, undefined],
        [status, undefined],
      ],
      sum: 8,
    });
  });

  it("leaves out no line of another event", () => {
    const { lines, log, requests } = sampledLog(1);
    requests(5);
    for (let at = 0; at < 5; at += 1) log.event("tool_failed", {});
    expect(lines.filter(({ name }) => name === "tool_failed").length).toBe(5);
  });
});
