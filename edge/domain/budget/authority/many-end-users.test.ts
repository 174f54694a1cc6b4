/** Clients can name any number of end users; an object keeps a bounded number (docs/rules/budgets.md#end-users). */
import { expect, it } from "vitest";
import { SimulatedDisk } from "../../../../test/harness/edge/budget/simulated-disk.ts";
import { BudgetSimulation } from "../../../../test/harness/edge/budget/simulation.ts";
import { endUserLimitsOf } from "../limits.ts";

const end_user_budget = { tokens: 100, cost_usd: null, period: "monthly", started_at_ms: null } as const;
const limitsOf = (name: string) => {
  const limits = endUserLimitsOf(name, { id: "tenant-1", name: "Acme", rev: 1, timezone: "UTC", end_user_budget });
  if (limits === null) throw new Error("no budget");
  return limits;
};

it("end users beyond 10,000 are forgotten, the earliest first, but none with a lease", () => {
  const world = new BudgetSimulation(1);
  const need = { bucketTokens: 0, termTokens: 10, nanoUsd: 0 };
  const request = world.reserve(world.cell(0), limitsOf("leased"), need);
  while (world.calls.length > 0) world.deliver(world.nextCall());
  expect(world.verdicts.get(request)?.kind).toBe("ok");
  const touch = (name: string): void => world.core.limitsChanged(limitsOf(name), world.coreMs);
  touch("again");
  for (let at = 0; at < 10_000; at += 1) touch(`user-${at}`);
  touch("again");
  const disk = new SimulatedDisk();
  const { tenant, keys, forgotten, charged } = world.core.checkpoint();
  disk.putCheckpoint({ tenant, keys, forgotten, charged });
  const kept = disk.load().state.keys.map(({ limits }) => limits.id.replace("tenant-1/", ""));
  expect({
    forgotten: [forgotten.length, forgotten[0], forgotten.at(-1)],
    kept: kept.length,
    some: ["leased", "again", "user-0", "user-9999"].map((name) => kept.includes(name)),
  }).toEqual({
    forgotten: [1_002, "tenant-1/user-0", "tenant-1/user-1001"],
    kept: 9_000,
    some: [true, true, false, true],
  });
});

it("an end user raises no alert, whatever was used", () => {
  const world = new BudgetSimulation(1);
  world.charge(world.cell(0), limitsOf("ann"), { tokens: 1_000, nanoUsd: 0 });
  world.calm(20_000);
  const { account } = world.core.read("key", limitsOf("ann"), world.coreMs);
  expect({ used: account.usedTokens, alerts: [...world.core.undelivered, ...world.alerts] }).toEqual({
    used: 1_000,
    alerts: [],
  });
});
