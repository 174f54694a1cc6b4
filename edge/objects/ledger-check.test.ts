/** The check of a cold budget object against a ledger that takes its time. */
import { afterEach, expect, it, vi } from "vitest";
import { NOTHING_STORED } from "../domain/budget/stored.ts";
import { TenantBudgetCore } from "../domain/budget/tenant-budget.ts";
import { limitsWith, monthOf } from "../domain/budget/testing/world.ts";
import { LedgerCheck } from "./ledger-check.ts";

afterEach(() => vi.unstubAllGlobals());

it("is waited for by everyone who decides before its answer, not only by the first", async () => {
  const asked = Promise.withResolvers<Response>();
  vi.stubGlobal("fetch", () => asked.promise);
  const core = new TenantBudgetCore(NOTHING_STORED, monthOf, Date.now());
  const check = new LedgerCheck(core, { url: "http://ledger.test", db: "gateway", user: "u", password: "p" });
  const caps = limitsWith({ tenantTokens: 100 });
  const limits = { ...caps, tenant: { ...caps.tenant, id: crypto.randomUUID() } };
  const first = check.beforeDeciding(limits);
  expect(check.isFresh(limits, Date.now())).toBe(false);
  const second = check.beforeDeciding(limits);
  asked.resolve(new Response("70\t0\n"));
  await Promise.all([first, second]);
  expect(check.isFresh(limits, Date.now())).toBe(true);
  expect(core.read("tenant", limits, Date.now()).account.usedTokens).toBe(70);
});

it("tells who reads a counter without a cap what the ledger has", async () => {
  vi.stubGlobal("fetch", async () => new Response("70\t0\n"));
  const core = new TenantBudgetCore(NOTHING_STORED, monthOf, Date.now());
  const check = new LedgerCheck(core, { url: "http://ledger.test", db: "gateway", user: "u", password: "p" });
  const limits = { ...limitsWith({}), tenant: { ...limitsWith({}).tenant, id: crypto.randomUUID() } };
  await check.beforeDeciding(limits);
  expect(core.read("tenant", limits, Date.now()).account.usedTokens).toBe(0);
  await check.beforeReading("tenant", limits);
  expect(core.read("tenant", limits, Date.now()).account.usedTokens).toBe(70);
});
