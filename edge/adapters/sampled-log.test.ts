import { expect, it } from "vitest";
import type { LogFields } from "../ports.ts";
import { SampledLog } from "./sampled-log.ts";

function logWith(perSecond: number) {
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

it("writes every line up to the rate of a second, and one of 100 above it", () => {
  const { now, lines, requests, sum } = logWith(10);
  requests(10);
  expect({ lines: lines.length, sampled: lines.filter(({ sampled }) => sampled !== undefined).length }).toEqual({
    lines: 10,
    sampled: 0,
  });
  requests(250);
  expect({ lines: lines.length, sum: sum() }).toEqual({ lines: 12, sum: 210 });
  now.ms += 1_000;
  requests(1);
  expect({ last: lines.at(-1), sum: sum() }).toEqual({ last: { name: "request", status: 200, sampled: 50 }, sum: 261 });
});

it.each([429, 499, 502])("writes the line of every request with status %i", (status) => {
  const { lines, requests, sum } = logWith(1);
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
  const { lines, log, requests } = logWith(1);
  requests(5);
  for (let at = 0; at < 5; at += 1) log.event("tool_failed", {});
  expect(lines.filter(({ name }) => name === "tool_failed").length).toBe(5);
});
