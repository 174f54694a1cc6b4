/** Alerts are sent at once or with their count, and no failure here reaches the code that raised them. */
import { describe, expect, it } from "vitest";
import { type AlertEvent, issues } from "../../../shared/alerts.ts";
import { QUIET_MS } from "../../domain/ledger/alert-throttle.ts";
import { alertLedgerOf, LedgerAlerts } from "./ledger-alerts.ts";

/** An isolate's alerts on a clock that advances only in {@link World.pass}, with a Ledger that takes each id once. */
function alertsOf() {
  const sleepers: { readonly untilMs: number; readonly wake: () => void }[] = [];
  const world = {
    nowMs: 1000,
    failures: 0,
    loseAnswers: 0,
    arrived: new Map<string, AlertEvent>(),
    calls: 0,
    lines: [] as unknown[],
    alive: 0,
    /** Runs everything that is due by then, in order. */
    pass: async (ms: number) => {
      const untilMs = world.nowMs + ms;
      await settle();
      for (;;) {
        sleepers.sort((one, other) => one.untilMs - other.untilMs);
        const next = sleepers[0];
        if (next === undefined || next.untilMs > untilMs) break;
        sleepers.shift();
        world.nowMs = Math.max(world.nowMs, next.untilMs);
        next.wake();
        await settle();
      }
      world.nowMs = untilMs;
    },
    /** Ends the request contexts: nothing that waits in them continues. */
    endContexts: () => void sleepers.splice(0),
  };
  let ids = 0;
  const alerts = new LedgerAlerts({
    ledger: () => ({
      alert: async (events) => {
        world.calls += 1;
        world.failures -= 1;
        if (world.failures >= 0) throw new Error("the Ledger is beyond reach");
        for (const event of events) if (!world.arrived.has(event.id)) world.arrived.set(event.id, event);
        world.loseAnswers -= 1;
        if (world.loseAnswers >= 0) throw new Error("the answer was lost");
      },
    }),
    clock: () => world.nowMs,
    sleep: async (ms) => await new Promise<void>((wake) => sleepers.push({ untilMs: world.nowMs + ms, wake })),
    uuid: () => `id-${ids++}`,
    keepAlive: (work) => {
      world.alive += 1;
      void work.then(() => {
        world.alive -= 1;
      });
    },
    log: { event: (name, fields) => void world.lines.push([name, fields]) },
  });
  const reported = () =>
    [...world.arrived.values()].map(({ issueKey, detail, count, atMs }) => [issueKey, detail, count, atMs]);
  return { alerts, world, told: reported };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

const down = issues.lookupFailed("key", "no answer");
const countOf = (arrived: ReadonlyMap<string, AlertEvent>): number =>
  [...arrived.values()].reduce((sum, { count }) => sum + count, 0);

describe("alerts by way of the Ledger", () => {
  it("report an issue at once, and its repeats as a count after its quiet time", async () => {
    const { alerts, world, told: reported } = alertsOf();
    for (let times = 0; times < 50; times += 1) alerts.raise({ ...down, detail: `failure ${times}` });
    alerts.raise(issues.lookupFailed("model", "no answer"));
    await settle();
    expect(reported().map(([key, detail, count]) => [key, detail, count])).toEqual([
      ["redis_key_lookup_failed", "failure 0", 1],
      ["redis_model_lookup_failed", "model: no answer; served from memory where possible, else rejected", 1],
    ]);
    await world.pass(QUIET_MS);
    expect(reported().slice(2)).toEqual([["redis_key_lookup_failed", "failure 49", 49, 1000 + QUIET_MS]]);
    expect(world.alive).toBe(0);
  });

  it("36 failures in 36 s are 36 at the Ledger, whatever it misses", async () => {
    const { alerts, world } = alertsOf();
    for (let second = 0; second < 36; second += 1) {
      if (second % 7 === 3) world.failures = 2;
      if (second % 11 === 5) world.loseAnswers = 3;
      alerts.raise(down);
      await world.pass(1_000);
    }
    await world.pass(3 * QUIET_MS);
    expect(countOf(world.arrived)).toBe(36);
    expect(world.alive).toBe(0);
  });

  it("leave nothing running when nothing waits: one failure needs no watch", async () => {
    const { alerts, world } = alertsOf();
    alerts.raise(down);
    await settle();
    expect({ alive: world.alive, calls: world.calls }).toEqual({ alive: 0, calls: 1 });
  });

  it("keep what the Ledger did not take, and send it again under the same id", async () => {
    const { alerts, world, told: reported } = alertsOf();
    world.failures = 4;
    alerts.raise(down);
    await settle();
    expect({ calls: world.calls, lines: world.lines }).toEqual({
      calls: 2,
      lines: [["alerts_wait", { alerts: 1, reason: "the Ledger is beyond reach" }]],
    });
    await world.pass(QUIET_MS);
    await world.pass(QUIET_MS);
    expect([...world.arrived.keys()]).toEqual(["id-0"]);
    expect({ reportedCount: reported()[0]?.[2], alive: world.alive }).toEqual({ reportedCount: 1, alive: 0 });
  });

  it("are sent by the next request when the one that kept the watch has ended early", async () => {
    const { alerts, world } = alertsOf();
    alerts.raise(down);
    alerts.raise(down);
    await settle();
    world.endContexts();
    world.nowMs += QUIET_MS;
    alerts.raise(down);
    await settle();
    expect(countOf(world.arrived)).toBe(3);
    alerts.raise(down);
    world.endContexts();
    world.nowMs += 2 * QUIET_MS;
    alerts.raise(issues.lookupFailed("model", "no answer"));
    await world.pass(QUIET_MS);
    expect(countOf(world.arrived)).toBe(5);
  });

  it("are watched only by recent requests while failures last for minutes", async () => {
    const { alerts, world } = alertsOf();
    for (let second = 0; second < 300; second += 1) {
      alerts.raise(down);
      await world.pass(1_000);
      expect(world.alive).toBeLessThanOrEqual(2);
    }
    await world.pass(QUIET_MS);
    expect({ arrivedCount: countOf(world.arrived), alive: world.alive }).toEqual({ arrivedCount: 300, alive: 0 });
  });

  it("drop the oldest when too many wait, and log which", async () => {
    const { alerts, world } = alertsOf();
    world.failures = Number.POSITIVE_INFINITY;
    for (let n = 0; n <= 1000; n += 1) alerts.raise({ ...down, issueKey: `k${n}` });
    await settle();
    expect(world.lines.filter((line) => (line as unknown[])[0] === "alert_lost")).toEqual([
      ["alert_lost", { key: "k0", count: 1, reason: "the Ledger does not answer, and 1000 newer alerts wait" }],
    ]);
  });

  it("deliver every event that has an id of its own, or fail with an error", async () => {
    const { alerts, world } = alertsOf();
    world.failures = 2;
    const event: AlertEvent = { ...down, id: "budget@2026-11", atMs: 5, count: 1 };
    await expect(alerts.deliver([event])).rejects.toThrow("beyond reach");
    await alerts.deliver([event]);
    await alerts.deliver([]);
    expect([...world.arrived.values()]).toEqual([event]);
  });

  it("are kept by the first Ledger of their cell", () => {
    expect(alertLedgerOf("eu-west")).toBe("eu-west:0");
  });
});
