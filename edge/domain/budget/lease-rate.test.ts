/**
 * How often a cell sends messages to the authority (docs/rules/budgets.md#leases): messages are the cost of budgets; a
 * single request needs none of its own.
 */
import { describe, expect, it } from "vitest";
import { BudgetSimulation, limitsWith } from "../../../test/harness/edge/budget/simulation.ts";

const NEED = { bucketTokens: 2_000, termTokens: 2_000, nanoUsd: 20_000_000 };
const USED = { tokens: 500, nanoUsd: 5_000_000 };

/** Messages per request of a tenant that sends a request of 1 s every 200 ms for ten minutes. */
function messagesPerRequest(limits: ReturnType<typeof limitsWith>) {
  const world = new BudgetSimulation(1);
  const cell = world.cell(0);
  const running: string[] = [];
  const sent = { lease: 0, report: 0 };
  const requests = 3_000;
  for (let at = 0; at < requests; at += 1) {
    running.push(world.reserve(cell, limits, NEED));
    const ended = running.length > 5 ? running.shift() : undefined;
    if (ended !== undefined) world.settle(cell, ended, USED);
    for (const call of world.calls.splice(0)) {
      sent[call.body.kind] += 1;
      world.deliver(call);
    }
    if (at % 25 === 0) world.checkpoint();
    world.advance(200);
  }
  for (const verdict of world.verdicts.values()) expect(verdict.kind).toBe("ok");
  return { leases: sent.lease / requests, reports: sent.report / requests };
}

describe("a tenant of five requests a second", () => {
  it.each([
    ["a bucket", limitsWith({ tokensPerMinute: 10_000_000 })],
    ["budgets", limitsWith({ tenantTokens: 1e9, tenantNanoUsd: 1e15 })],
    ["everything", limitsWith({ tokensPerMinute: 10_000_000, tenantTokens: 1e9, keyTokens: 1e8 })],
  ])("with %s far from its limit requests at most one lease and report per 50 requests", (_name, limits) => {
    const { leases, reports } = messagesPerRequest(limits);
    expect(leases).toBeLessThanOrEqual(0.02);
    expect(reports).toBeLessThanOrEqual(0.02);
  });

  it("sends one lease request for the first requests of a burst", () => {
    const world = new BudgetSimulation(1);
    const cell = world.cell(0);
    let sent = 0;
    for (let at = 0; at < 15; at += 1) {
      const id = world.reserve(cell, limitsWith({ tokensPerMinute: 10_000_000 }), NEED);
      for (const call of world.calls.splice(0)) {
        sent += 1;
        world.deliver(call);
      }
      expect(world.verdicts.get(id)?.kind).toBe("ok");
      world.advance(50);
    }
    expect(sent).toBe(1);
  });

  it("requests no lease without limits", () => {
    const { leases, reports } = messagesPerRequest(limitsWith({}));
    expect(leases).toBe(0);
    expect(reports).toBeLessThanOrEqual(0.02);
  });

  it.each([
    { what: "more", need: 15, used: 5_000, least: 64 * 5_000, most: 70 * 5_000 },
    { what: "less", need: 2_000, used: 50, least: 64 * 50, most: 5 * 2_000 },
  ])(
    "requests leases by what requests really used lately when that is $what than they need",
    ({ need, used, least, most }) => {
      const world = new BudgetSimulation(1);
      const cell = world.cell(0);
      const limits = limitsWith({ tenantTokens: 1e9 });
      let wanted = 0;
      // Until the lease is over that was sized before any request had ended.
      for (let at = 0; at < 1_000 && wanted === 0; at += 1) {
        const id = world.reserve(cell, limits, { bucketTokens: 0, termTokens: need, nanoUsd: 0 });
        for (const call of world.calls.splice(0)) {
          if (call.body.kind === "lease" && at > 0) wanted = call.body.request.want.termTokens;
          world.deliver(call);
        }
        world.settle(cell, id, { tokens: used, nanoUsd: 0 });
        world.advance(1_000);
      }
      expect(wanted).toBeGreaterThanOrEqual(least);
      expect(wanted).toBeLessThanOrEqual(most);
    },
  );
});
