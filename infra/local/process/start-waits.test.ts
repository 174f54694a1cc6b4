import { expect, it } from "vitest";
import { StartWaits } from "./start-waits.ts";

const told = (waits: StartWaits): unknown[] => waits.lines().map((line) => JSON.parse(line) as unknown);

it("names each part that is waited for, how long, and its last line", async () => {
  let nowMs = 0;
  const waits = new StartWaits(() => nowMs);
  const control = Promise.withResolvers<number>();
  const waiting = [
    waits.during("control", control.promise),
    waits.during("workerd", new Promise(() => undefined)),
  ] as const;
  waits.heard("control", '{"level":30,"time":"2026-01-01T00:00:00Z","event":"starting"}');
  waits.heard("control", '{"level":40,"time":"2026-01-01T00:00:01Z","event":"database_not_ready","reason":"refused"}');
  nowMs = 5_100;
  expect(told(waits)).toEqual([
    { event: "start_waits", for: "control", secs: 5, last_line: '{"event":"database_not_ready","reason":"refused"}' },
    { event: "start_waits", for: "workerd", secs: 5, last_line: null },
  ]);
  waits.heard("workerd", "error: no such file");
  control.resolve(7);
  expect({ value: await waiting[0], left: told(waits) }).toEqual({
    value: 7,
    left: [{ event: "start_waits", for: "workerd", secs: 5, last_line: "error: no such file" }],
  });
});

it("waits no longer for what failed, and shows no secret of a last line", async () => {
  const waits = new StartWaits(() => 0);
  waits.heard("control", "cannot connect to postgres://gateway:planted-secret@db/gateway");
  const failing = Promise.withResolvers<never>();
  const waiting = waits.during("control", failing.promise);
  expect(waits.lines().join()).not.toContain("planted-secret");
  failing.reject(new Error("no"));
  await expect(waiting).rejects.toThrow("no");
  expect(waits.lines()).toEqual([]);
});
