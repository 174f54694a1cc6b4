/** The check of a cold budget object against a ledger that takes its time. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { NOTHING_STORED } from "../domain/budget/stored.ts";
import { TenantBudgetCore } from "../domain/budget/tenant-budget.ts";
import { limitsWith, monthOf } from "../domain/budget/testing/world.ts";
import { LedgerCheck } from "./ledger-check.ts";

let server: Server;
let asked: PromiseWithResolvers<ServerResponse>;
let check: LedgerCheck;
let core: TenantBudgetCore;

beforeEach(async () => {
  asked = Promise.withResolvers();
  server = createServer((_request, response) => asked.resolve(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  core = new TenantBudgetCore(NOTHING_STORED, monthOf, Date.now());
  check = new LedgerCheck(core, { url, db: "gateway", user: "u", password: "p" });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it("is waited for by everyone who decides before its answer, not only by the first", async () => {
  const caps = limitsWith({ tenantTokens: 100 });
  const limits = { ...caps, tenant: { ...caps.tenant, id: crypto.randomUUID() } };
  const first = check.beforeDeciding(limits);
  const answer = await asked.promise;
  expect(check.isFresh(limits, Date.now())).toBe(false);
  const second = check.beforeDeciding(limits);
  answer.end("70\t0\n");
  await Promise.all([first, second]);
  expect(check.isFresh(limits, Date.now())).toBe(true);
  expect(core.read("tenant", limits, Date.now()).account.usedTokens).toBe(70);
});
