/**
 * Headroom over minutes (docs/rules/fairshare.md#headroom): tenants that come and go wait for nothing while one tenant asks
 * for everything, and what tenants have in the long run is what they have without it.
 */
import { describe, expect, it } from "vitest";
import { runScenario, type ShareRun } from "./run.ts";
import type { Scenario, TenantPlan } from "./scenarios.ts";
import { printedSeed } from "./seed.ts";

const seed = printedSeed("headroom.test.ts");
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function planOf(id: string, plan: Partial<TenantPlan> & Pick<TenantPlan, "source">): TenantPlan {
  const plain = { set: id, group: "g", groupWeight: 100, weight: 100, startMs: 0 };
  return { id, ...plain, serviceMs: [200, 600], tokens: [200, 2000], ...plan };
}

function runOf(
  scenario: Pick<Scenario, "algorithm" | "slots" | "headroom" | "tenants"> & { endMs?: number },
): ShareRun {
  return runScenario({ name: "", title: "", joinMs: 0, endMs: 120_000, ...scenario }, seed);
}

const got = ({ windows }: ShareRun, what: "held" | "tokens", id: string): number =>
  sum(windows.slice(2).map((window) => window[what].get(id) ?? 0));

const backlog = (depth: number) => ({ kind: "backlog", depth }) as const;

describe.each(["weighted", "hierarchical"] as const)("headroom (%s)", (algorithm) => {
  const flood = planOf("flood", { source: backlog(200) });
  const guests = ["g", "g", "other"].map((group, at) =>
    planOf(`guest${at}`, { group, source: { kind: "trickle", pauseMs: 700 }, startMs: 1000 * (at + 1) }),
  );
  const longestWait = (run: ShareRun): number => Math.max(...guests.flatMap(({ id }) => run.waits.get(id) ?? []));

  it("lets no request of one that comes and goes wait while another asks for everything", () => {
    const cell = { algorithm, slots: 60, tenants: [flood, ...guests] };
    expect(longestWait(runOf(cell))).toBeGreaterThan(0);
    const run = runOf({ ...cell, headroom: 0.05 });
    expect(longestWait(run)).toBe(0);
    // The flood has all but the headroom.
    expect(sum(run.windows.map(({ held }) => held.get("flood") ?? 0)) / (run.windows.length * 1000)).toBeGreaterThan(
      54,
    );
  });
});

describe("shares in the long run, with headroom", () => {
  it("weighted: are those of tokens by weight, whatever the sizes of requests", { tags: ["check"] }, () => {
    const tenants = [
      planOf("short", { serviceMs: [50, 150], tokens: [1000, 4000], source: backlog(90) }),
      planOf("long", { serviceMs: [800, 1200], tokens: [50, 200], weight: 20, source: backlog(90) }),
      planOf("usual", { weight: 300, source: backlog(90) }),
    ];
    const run = runOf({ algorithm: "weighted", slots: 60, headroom: 0.25, tenants, endMs: 600_000 });
    const total = sum(tenants.map(({ id }) => got(run, "tokens", id)));
    for (const { id, weight } of tenants)
      expect(Math.abs(got(run, "tokens", id) / total - weight / 420)).toBeLessThanOrEqual(0.05 * (weight / 420));
  });

  it("hierarchical: are the slot caps, also of a group with more tenants than slots", { tags: ["check"] }, () => {
    const crowd = Array.from({ length: 100 }, (_, at) => planOf(`c${at}`, { group: "crowd", source: backlog(4) }));
    const rival = planOf("rival", { group: "rival", groupWeight: 300, source: backlog(90) });
    const run = runOf({ algorithm: "hierarchical", slots: 60, headroom: 0.25, tenants: [rival, ...crowd] });
    const slots = (ids: readonly string[]): number =>
      sum(ids.map((id) => got(run, "held", id))) / (1000 * (run.windows.length - 2));
    expect(Math.abs(slots(["rival"]) - 45)).toBeLessThanOrEqual(0.05 * 45);
    expect(Math.abs(slots(crowd.map(({ id }) => id)) - 15)).toBeLessThanOrEqual(0.05 * 15);
  });
});
