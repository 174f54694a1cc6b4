import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ResolvedKey, resolvedKeySchema } from "../../shared/records.ts";
import type { ApiKey, CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenant: Tenant;
let key: ApiKey;
let count = 0;
const START = "2026-01-02T03:04:05.000Z";
const NOTHING = { budget_tokens: null, budget_cost_usd: null, budget_period: null, budget_started_at: null };

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  tenant = await send<Tenant>("POST", "/api/v1/tenants", { name: `tenant-${count}` });
  const body = { name: "n", description: "d", budget_tokens: 5, budget_period: "term", budget_started_at: START };
  key = (await send<CreatedKey>("POST", `/api/v1/tenants/${tenant.id}/keys`, body)).key;
  control.cell.items.length = 0;
});

async function send<T>(method: string, path: string, body: unknown): Promise<T> {
  const response = await control.request(method, path, body);
  expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
    status: 200,
    "x-gateway-sync": null,
  });
  return (await response.json()) as T;
}

async function setBudget(body: object): Promise<Tenant> {
  return await send<Tenant>("PATCH", `/api/v1/tenants/${tenant.id}/budget`, body);
}

async function rows(): Promise<unknown> {
  return [
    await (await control.request("GET", `/api/v1/tenants/${tenant.id}`)).json(),
    await (await control.request("GET", `/api/v1/tenants/${tenant.id}/keys`)).json(),
  ];
}

/** The copy of the tenant's only key. */
async function keyCopy(): Promise<ResolvedKey | undefined> {
  const names: string[] = [];
  for await (const batch of control.store.scan("key:*")) names.push(...batch);
  const copies = (await control.store.get(names)).map((text) => resolvedKeySchema.parse(JSON.parse(text ?? "null")));
  return copies.find((copy) => copy.tenant?.id === tenant.id);
}

describe("the budget of each end user of a tenant", () => {
  it("merges beside the tenant's own, in the record and in the copy, and starts with it", async () => {
    const own = { end_user_budget_tokens: 7, end_user_budget_cost_usd: null, end_user_budget_period: "term" };
    expect(await setBudget({ ...own, end_user_budget_period: " Term " })).toMatchObject({ ...own, ...NOTHING });
    expect((await keyCopy())?.tenant?.end_user_budget).toEqual({
      tokens: 7,
      cost_usd: null,
      period: "term",
      started_at_ms: null,
    });
    await setBudget({ budget_tokens: 5, budget_started_at: START, end_user_budget_cost_usd: 0.5 });
    expect((await keyCopy())?.tenant).toMatchObject({
      budget: { tokens: 5 },
      end_user_budget: { tokens: 7, cost_usd: 0.5, started_at_ms: Date.parse(START) },
    });
  });
});

describe("the budget of a tenant", () => {
  it("merges, in the record and in the copy", async () => {
    const body = { budget_tokens: 0, budget_cost_usd: 1.5, budget_period: " Monthly ", budget_started_at: START };
    const after = await setBudget(body);
    expect(after).toEqual({
      ...tenant,
      ...body,
      budget_period: "monthly",
      updated_at: after.updated_at,
      rev: after.rev,
    });
    const copy = await keyCopy();
    expect(copy?.tenant?.budget).toEqual({
      tokens: 0,
      cost_usd: 1.5,
      period: "monthly",
      started_at_ms: Date.parse(START),
    });
    expect(control.cell.items).toEqual([{ kind: "tenant", id: tenant.id, rev: copy?.tenant?.rev }]);
    expect(await setBudget({ budget_cost_usd: 2, budget_period: "" })).toMatchObject({
      budget_tokens: 0,
      budget_cost_usd: 2,
      budget_period: null,
      budget_started_at: START,
    });
  });

  it("starts when its first cap is set, keeps that start, and loses it with its last cap", async () => {
    const first = await setBudget({ budget_tokens: 10 });
    expect(first.budget_started_at).toBe(first.updated_at);
    const second = await setBudget({ budget_cost_usd: 3, budget_period: "lifetime" });
    expect(second.budget_started_at).toBe(first.budget_started_at);
    const uncapped = { budget_tokens: null, budget_cost_usd: null };
    expect(await setBudget({ ...uncapped, budget_started_at: START })).toMatchObject({
      ...NOTHING,
      budget_period: "lifetime",
    });
  });

  it("starts again with a null start", async () => {
    await setBudget({ budget_tokens: 10, budget_started_at: START });
    const after = await setBudget({ budget_tokens: 10, budget_started_at: null });
    expect(after.budget_started_at).toBe(after.updated_at);
  });
});

describe("an update of a key", () => {
  it.each([
    [{}, {}],
    [{ name: "  other  " }, { name: "other" }],
    [
      { name: "", description: "" },
      { name: "", description: "" },
    ],
    [{ budget_cost_usd: 2 }, { budget_cost_usd: 2 }],
    [{ budget_period: null }, { budget_period: null }],
    [{ budget_tokens: null }, { budget_tokens: null, budget_started_at: null }],
    [{ budget_started_at: "2027-01-01T00:00:00+01:00" }, { budget_started_at: "2026-12-31T23:00:00.000Z" }],
  ])("of %j changes %j and keeps the rest", async (body, changed) => {
    const after = await send<ApiKey>("PUT", `/api/v1/keys/${key.id}`, body);
    expect(after).toEqual({ ...key, ...changed, updated_at: after.updated_at, rev: after.rev });
    const copy = await keyCopy();
    expect(copy).toMatchObject({
      key_name: after.name,
      budget: { tokens: after.budget_tokens, cost_usd: after.budget_cost_usd, period: after.budget_period },
    });
    expect(control.cell.items).toEqual([{ kind: "key", id: copy?.key_hash, rev: copy?.rev }]);
  });
});

describe("a budget", () => {
  it.each([
    [{ budget_tokens: -1 }, "budget_tokens"],
    [{ budget_tokens: 1.5 }, "budget_tokens"],
    [{ budget_tokens: "5" }, "budget_tokens"],
    [{ budget_cost_usd: -0.01 }, "budget_cost_usd"],
    [{ budget_period: "weekly" }, "budget_period"],
    [{ budget_started_at: "yesterday" }, "budget_started_at"],
    [{ budget_started_at: "0000-06-01T00:00:00Z" }, "budget_started_at"],
    [{ budget_started_at: "9999-12-31T23:59:59-14:00" }, "budget_started_at"],
  ])("%j is refused by naming %s, and changes nothing", async (body, field) => {
    const [before, copy] = [await rows(), await keyCopy()];
    for (const [method, path] of [
      ["PATCH", `/api/v1/tenants/${tenant.id}/budget`],
      ["PUT", `/api/v1/keys/${key.id}`],
    ] as const) {
      const response = await control.request(method, path, body);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { code: "validation_failed", param: field, details: [{ path: field }] } },
      });
    }
    expect({ rows: await rows(), keyCopy: await keyCopy(), items: control.cell.items }).toEqual({
      rows: before,
      keyCopy: copy,
      items: [],
    });
  });

  it("refuses a key's name that is no text", async () => {
    const response = await control.request("PUT", `/api/v1/keys/${key.id}`, { name: 5 });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "name" } },
    });
  });
});

describe("the usage of a budget", () => {
  it("is 502 when no budget object can be reached, and says through which cell", async () => {
    control.cell.fail = true;
    for (const path of [`/api/v1/tenants/${tenant.id}/budget/usage`, `/api/v1/keys/${key.id}/budget/usage`]) {
      const response = await control.request("GET", path);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 502,
        body: { error: { code: "cell_unreachable", message: "cell 'local' is unreachable" } },
      });
    }
    control.cell.fail = false;
  });
});
