/** Alerts leave at most once per issue and while, and nothing that fails here reaches who raised them. */
import { describe, expect, it } from "vitest";
import { type AlertEvent, issues } from "../../shared/alerts.ts";
import { alertLedgerOf, LedgerAlerts, QUIET_MS } from "./ledger-alerts.ts";

function alertsOf(failures: number) {
  const world = {
    nowMs: 1000,
    failures,
    arrived: [] as AlertEvent[][],
    lost: [] as unknown[],
    pending: [] as Promise<unknown>[],
  };
  let ids = 0;
  const alerts = new LedgerAlerts({
    ledger: () => ({
      alert: async (events) => {
        world.failures -= 1;
        if (world.failures >= 0) throw new Error("the Ledger is beyond reach");
        world.arrived.push([...events]);
      },
    }),
    clock: () => world.nowMs,
    uuid: () => `id-${ids++}`,
    keepAlive: (work) => world.pending.push(work),
    log: { event: (name, fields) => void world.lost.push([name, fields["key"]]) },
  });
  return { alerts, world };
}

const down = issues.lookupFailed("key", "no answer");

describe("alerts by way of the Ledger", () => {
  it("tell an issue once per while, however often it is raised, and each issue by itself", async () => {
    const { alerts, world } = alertsOf(0);
    for (let times = 0; times < 50; times += 1) alerts.raise(down);
    alerts.raise(issues.lookupFailed("model", "no answer"));
    world.nowMs += QUIET_MS;
    alerts.raise(down);
    await Promise.all(world.pending);
    expect(world.arrived.flat().map(({ id, issueKey, atMs }) => [id, issueKey, atMs])).toEqual([
      ["id-0", "redis_key_lookup_failed", 1000],
      ["id-1", "redis_model_lookup_failed", 1000],
      ["id-2", "redis_key_lookup_failed", 1000 + QUIET_MS],
    ]);
  });

  it("are held back by no clock that is set back", async () => {
    const { alerts, world } = alertsOf(0);
    alerts.raise(down);
    world.nowMs -= QUIET_MS - 1;
    alerts.raise(down);
    world.nowMs -= 31_536_000_000;
    alerts.raise(down);
    await Promise.all(world.pending);
    expect(world.arrived.flat().map(({ id }) => id)).toEqual(["id-0", "id-1"]);
  });

  it("try a second time under the same id, then leave a line in the log and disturb nobody", async () => {
    const { alerts, world } = alertsOf(1);
    alerts.raise(down);
    await Promise.all(world.pending);
    expect(world.arrived).toMatchObject([[{ id: "id-0" }]]);
    world.failures = 2;
    alerts.raise(issues.schedulerUnavailable("eu", "no answer"));
    await Promise.all(world.pending);
    expect([world.arrived.length, world.lost]).toEqual([1, [["alert_lost", "scheduler_unavailable"]]]);
  });

  it("forget the issue that was raised longest ago when there are too many", async () => {
    const { alerts, world } = alertsOf(0);
    for (let n = 0; n <= 1000; n += 1) alerts.raise({ ...down, issueKey: `k${n}` });
    alerts.raise({ ...down, issueKey: "k0" });
    alerts.raise({ ...down, issueKey: "k1000" });
    await Promise.all(world.pending);
    expect(world.arrived.flat().filter(({ issueKey }) => issueKey === "k0")).toHaveLength(2);
    expect(world.arrived.flat().filter(({ issueKey }) => issueKey === "k1000")).toHaveLength(1);
  });

  it("hand over events with ids of their own, every one, or say that they could not", async () => {
    const { alerts, world } = alertsOf(2);
    const event: AlertEvent = { ...down, id: "budget@2026-11", atMs: 5 };
    await expect(alerts.deliver([event])).rejects.toThrow("beyond reach");
    await alerts.deliver([event]);
    await alerts.deliver([event]);
    await alerts.deliver([]);
    expect(world.arrived).toEqual([[event], [event]]);
  });

  it("are kept by the first Ledger of their cell", () => {
    expect(alertLedgerOf("eu-west")).toBe("eu-west:0");
  });
});
