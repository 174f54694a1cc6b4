/** @module-tag check */
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { modelRecordSchema, settingsRecordSchema, storeKeys } from "../../shared/records.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { auditLog } from "../db/schema/journal.ts";

let control: TestControl;

beforeEach(async () => {
  control = await startControl();
});
afterEach(async () => {
  await control.close();
});

async function send<T>(method: string, path: string, body: unknown): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

/** A copy without its revisions, which every resync renews. */
const withoutRevs = (text: string | null): unknown =>
  JSON.parse(text ?? "null", (name, value: unknown) => (/^(group_)?rev$/.test(name) ? undefined : value));

/** Every copy in the store by its name. */
async function copies(): Promise<ReadonlyMap<string, string | null>> {
  const names: string[] = [];
  for await (const batch of control.store.scan("*:*")) names.push(...batch.filter((name) => name !== "models:index"));
  const texts = await control.store.get(names.sort());
  return new Map(names.map((name, at) => [name, texts[at] ?? null]));
}

describe("POST /resync", () => {
  it("rewrites every copy, removes orphans, invalidates everything and returns the counts", async () => {
    const tenant = await send<Tenant>("POST", "/tenants", { name: "t" });
    await send("PATCH", `/tenants/${tenant.id}/budget`, { budget_tokens: 5 });
    await send<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { budget_cost_usd: 1 });
    await send<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, {});
    await send("POST", "/models", { model_name: "m" });
    await send("POST", "/mcp-servers", { name: "s", upstream_url: "https://mcp.test" });
    await send("POST", "/resync", undefined);
    const before = await copies();
    const lost = [...before.keys()].filter((name) => !name.startsWith("settings:"));
    await control.store.put([
      ...lost.map((hotKey) => ({ hotKey, text: null })),
      { hotKey: storeKeys.settings("boons"), text: "{}" },
      { hotKey: "key:ghost", text: "{}" },
      { hotKey: "settings:alerts", text: "{}" },
    ]);
    control.cell.items.length = 0;
    const { duration_ms, ...counts } = await send<Record<string, number>>("POST", "/resync", undefined);
    expect(counts).toEqual({ keys: 2, models: 1, mcp_servers: 1, settings: 3, budgets: 2, removed: 2 });
    expect(duration_ms).toBeGreaterThanOrEqual(0);
    const after = await copies();
    const contents = (all: typeof before): readonly (readonly [string, unknown])[] =>
      [...all].map(([name, text]) => [name, withoutRevs(text)] as const);
    expect(contents(after)).toEqual(contents(before));
    expect([...before.keys()]).toHaveLength(7);
    expect(control.cell.items).toMatchObject([{ kind: "all", id: "*" }]);
    const revIn = (all: typeof before, name: string): number =>
      (JSON.parse(all.get(name) ?? "null") as { rev: number }).rev;
    for (const name of before.keys()) {
      expect(revIn(after, name)).toBeGreaterThan(revIn(before, name));
      expect(control.cell.items[0]?.rev).toBeGreaterThan(revIn(after, name));
    }
    const audits = await control.ctx.db.select().from(auditLog);
    expect(audits.at(-1)).toMatchObject({ action: "resync", entity_type: "gateway", detail: { keys: 2, removed: 2 } });
  });

  it("is 503 without a store, and pending with no budgets counted while a cell is unreachable", async () => {
    const tenant = await send<Tenant>("POST", "/tenants", { name: "t" });
    await send("PATCH", `/tenants/${tenant.id}/budget`, { budget_tokens: 5 });
    control.cell.fail = true;
    const pending = await control.request("POST", "/api/v1/resync");
    expect({ status: pending.status, "x-gateway-sync": pending.headers.get("x-gateway-sync") }).toEqual({
      status: 200,
      "x-gateway-sync": "pending",
    });
    expect(await pending.json()).toMatchObject({ budgets: 0, settings: 3 });
    control.cell.fail = false;
    expect(await control.publisher.publishDue(new Date(Date.now() + 60_000))).toBe(0);
    expect(control.cell.items.at(-1)).toMatchObject({ kind: "all", id: "*" });
    await control.stopStore();
    const refused = await control.request("POST", "/api/v1/resync");
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 503,
      body: { error: { code: "key_store_unavailable" } },
    });
  });
});

it("a record that cannot be copied keeps no other back", async () => {
  for (const model_name of ["a", "broken", "c"]) await send("POST", "/models", { model_name });
  await control.connection.db.execute(
    sql`UPDATE models SET endpoint_selection_mode = 'by taste' WHERE model_name = 'broken'`,
  );
  await control.store.put(["a", "c"].map((name) => ({ hotKey: storeKeys.model(name), text: null })));
  expect(await send("POST", "/resync", undefined)).toMatchObject({ models: 2, removed: 0 });
  expect([...(await control.store.indexedModels())].sort()).toEqual(["a", "broken", "c"]);
});

describe("the comparison", () => {
  it("rewrites what differs, removes what has no record, index included, and sends no item", async () => {
    await send("POST", "/models", { model_name: "m" });
    await send("POST", "/models", { model_name: "n" });
    await control.store.put([
      { hotKey: storeKeys.model("m"), text: "{}" },
      { hotKey: storeKeys.model("n"), text: null },
      { hotKey: storeKeys.model("ghost"), text: "{}" },
    ]);
    control.cell.items.length = 0;
    expect(await control.resync.differing()).toMatchObject({ models: 2, removed: 1 });
    expect([...(await control.store.indexedModels())].sort()).toEqual(["m", "n"]);
    const [m, n, ghost, energy] = await control.store.get([
      storeKeys.model("m"),
      storeKeys.model("n"),
      storeKeys.model("ghost"),
      storeKeys.settings("energy"),
    ]);
    const namesOf = [m, n].map((text) => modelRecordSchema.parse(JSON.parse(text ?? "null")).model_name);
    expect({ namesOf, ghost }).toEqual({ namesOf: ["m", "n"], ghost: null });
    expect(settingsRecordSchema.parse(JSON.parse(energy ?? "null"))).toEqual({ v: 1, value: {}, rev: 0 });
    expect(control.cell.items).toEqual([]);
  });
});
