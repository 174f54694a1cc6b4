/**
 * The lives of a Cell and of a budget object in the runtime: how the lives of a Cell are numbered, and what a restarted
 * budget object starts from.
 */
import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { StoredGrants } from "../../edge/domain/budget/authority/stored.ts";
import { FIRST_LIFE } from "../../edge/domain/budget/cell-life.ts";
import type { BudgetLimits } from "../../edge/domain/budget/limits.ts";
import type { LeaseRequest } from "../../edge/domain/budget/messages/rpc.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { TenantBudgetObject } from "../../edge/objects/tenant-budget/tenant-budget.ts";
import { limitsWith } from "../harness/edge/budget/simulation.ts";
import { mainRows } from "../harness/main-rows.ts";
import { ObjectIsolate } from "./exchange-isolate.ts";

const bindings = env as unknown as {
  CELL: DurableObjectNamespace<CellObject>;
  TENANT_BUDGET: DurableObjectNamespace<TenantBudgetObject>;
};

/** The budget limits of a tenant that only this test has. */
function limitsOf(tenantId: string): BudgetLimits {
  const { tenant, key } = limitsWith({ tenantTokens: 1_000 });
  return { tenant: { ...tenant, id: tenantId }, key };
}

describe("a life of a Cell", () => {
  async function lifeOf(name: string): Promise<readonly string[]> {
    return await runInDurableObject(bindings.CELL.getByName(name), (_cell, state) =>
      state.storage.sql
        .exec<{ value: string }>("SELECT value FROM meta WHERE name = 'life'")
        .toArray()
        .map(({ value }) => value),
    );
  }

  /** Runs one request: it is granted a slot and ends. */
  async function serve(isolate: ObjectIsolate, limits: BudgetLimits): Promise<void> {
    await isolate.end(await isolate.begin({ limits }));
  }

  it("is counted in one row once a budget is used; its leases are newer than all earlier ones", async () => {
    const name = `lives-${crypto.randomUUID().slice(0, 8)}`;
    const tenants = [crypto.randomUUID(), crypto.randomUUID()];
    const lives: number[] = [];
    for (let life = 0; life < 3; life += 1) {
      const isolate = new ObjectIsolate(name);
      await isolate.stub.stats();
      expect(await lifeOf(name)).toEqual(life === 0 ? [] : [String(FIRST_LIFE + life - 1)]);
      for (const tenantId of tenants) await serve(isolate, limitsOf(tenantId));
      await serve(isolate, limitsOf(tenants[0] as string));
      expect(await lifeOf(name)).toEqual([String(FIRST_LIFE + life)]);
      const newest = await runInDurableObject(
        bindings.TENANT_BUDGET.getByName(tenants[0] as string),
        (_budget, state) => {
          const { value } = state.storage.sql.exec<{ value: string }>("SELECT value FROM grants").one();
          const { leases } = JSON.parse(value) as StoredGrants;
          return Math.max(...leases.map((placed) => placed.life));
        },
      );
      lives.push(newest);
      await abortAllDurableObjects();
    }
    expect(lives).toEqual([...new Set(lives)].toSorted((a, b) => a - b));
  });
});

describe("a budget object whose disk is damaged", () => {
  const report = { cell: "a", life: 1, sequence: 2, leases: [], open: [1], alertsSeen: [] };

  function leaseRequest(limits: BudgetLimits, tokens: number, n: number): LeaseRequest {
    const need = { bucketTokens: tokens, termTokens: tokens, nanoUsd: tokens };
    return { report, limits, pool: null, n, need, want: need };
  }

  mainRows(1)([
    ["no JSON", "grants", "{"],
    ["null for numbers", "grants", JSON.stringify({ checkpoint: null, leases: null })],
    ["huge numbers", "meta", '{"bucket":{"capTokens":1e308},"leases":[{"lease":{"granted":{"nanoUsd":1e400}}}]}'],
    ["another form", "meta", "[1]"],
  ])("by %s in %s starts, and counts what it cannot read as spent", async (_name, table, value) => {
    const stub = bindings.TENANT_BUDGET.getByName(crypto.randomUUID());
    const limits = limitsWith({ tokensPerMinute: 1_000, tenantTokens: 1_000 });
    expect((await stub.lease(leaseRequest(limits, 100, 1))).verdict.kind).toBe("granted");
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    await runInDurableObject(stub, (_budget, state) => {
      state.storage.sql.exec(`UPDATE ${table} SET value = ?${table === "meta" ? " WHERE name = 'tenant'" : ""}`, value);
    });
    await evictDurableObject(stub);
    const level = await stub.level(limits);
    expect(level?.remainingTokens).toBeLessThan(1_000);
    const { reserved_tokens, state } = await stub.usage("tenant", limits, null);
    expect({ isReserved: reserved_tokens >= 100, state }).toEqual({ isReserved: true, state: "ok" });
  });
});
