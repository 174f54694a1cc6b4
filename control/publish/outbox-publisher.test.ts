/** @module-tag check */
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { modelRecordSchema, resolvedKeySchema, storeKeys } from "../../shared/records.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { ownPort } from "../../test/harness/own-port.ts";

let control: TestControl;

beforeEach(async () => {
  control = await startControl();
});
afterEach(async () => {
  await control.close();
});

async function post<T>(path: string, body: unknown): Promise<T> {
  const response = await control.request("POST", path, body);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

/** The only key copy in the store. */
async function keyCopy(): Promise<ReturnType<typeof resolvedKeySchema.parse> | null> {
  const names: string[] = [];
  for await (const batch of control.store.scan("key:*")) names.push(...batch);
  const [text] = await control.store.get(names);
  return text == null ? null : resolvedKeySchema.parse(JSON.parse(text));
}

describe("publishing", () => {
  it("has written the copy and sent the cell its item when the write answers", async () => {
    const tenant = await post<Tenant>("/api/v1/tenants", { name: "t", weight: 7 });
    const { key } = await post<CreatedKey>(`/api/v1/tenants/${tenant.id}/keys`, {});
    const copy = await keyCopy();
    expect(copy).toMatchObject({
      key_id: key.id,
      disabled: false,
      tenant: { id: tenant.id, weight: 7, fairshare_group: "default", group_weight: 100 },
    });
    expect(control.cell.items).toContainEqual({ kind: "key", id: copy?.key_hash, rev: copy?.rev });
    await control.request("PUT", `/api/v1/keys/${key.id}/disabled`, { disabled: true });
    expect(await keyCopy()).toMatchObject({ disabled: true });
  });

  it("rewrites every key of a tenant and outdates them with one item", async () => {
    const tenant = await post<Tenant>("/api/v1/tenants", { name: "t" });
    await post(`/api/v1/tenants/${tenant.id}/keys`, {});
    control.cell.items.length = 0;
    await control.request("PATCH", `/api/v1/tenants/${tenant.id}/status`, { status: "suspended" });
    const copy = await keyCopy();
    expect(copy?.tenant?.status).toBe("suspended");
    expect(control.cell.items).toEqual([{ kind: "tenant", id: tenant.id, rev: copy?.tenant?.rev }]);
  });

  it("removes copies with their rows", async () => {
    const tenant = await post<Tenant>("/api/v1/tenants", { name: "t" });
    await post(`/api/v1/tenants/${tenant.id}/keys`, {});
    expect((await control.request("DELETE", `/api/v1/tenants/${tenant.id}`)).status).toBe(204);
    expect(await keyCopy()).toBeNull();
  });

  it("does not let a cell that is back wait for the next attempt", async () => {
    const tenant = await post<Tenant>("/api/v1/tenants", { name: "t" });
    control.cell.fail = true;
    const { key } = await post<CreatedKey>(`/api/v1/tenants/${tenant.id}/keys`, {});
    const inAnHour = new Date(Date.now() + 3_600_000);
    for (let attempt = 0; attempt < 8; attempt += 1) await control.publisher.publishDue(inAnHour);
    const now = new Date();
    expect(await control.publisher.publishDue(now)).toBe(1);
    control.cell.fail = false;
    expect(await control.publisher.publishDue(now)).toBe(0);
    expect(control.cell.items.map(({ kind }) => kind)).toContain("key");
    expect((await keyCopy())?.key_id).toBe(key.id);
  });

  it("does not let a store that is back wait for the next attempt", async () => {
    const backend = memoryBackend();
    const bridge = await startRedisBridge({ backend, token: "t", port: await ownPort() });
    const own = await startControl({ storeUrl: bridge.url });
    await bridge.close();
    expect((await own.request("POST", "/api/v1/models", { model_name: "m" })).headers.get("x-gateway-sync")).toBe(
      "pending",
    );
    const inAnHour = new Date(Date.now() + 3_600_000);
    for (let attempt = 0; attempt < 8; attempt += 1) await own.publisher.publishDue(inAnHour);
    const now = new Date();
    expect(await own.publisher.publishDue(now)).toBe(1);
    const again = await startRedisBridge({ backend, token: "t", port: Number(new URL(bridge.url).port) });
    expect(await own.publisher.publishDue(now)).toBe(0);
    expect(await own.store.get([storeKeys.model("m")])).not.toEqual([null]);
    await own.close();
    await again.close();
  });

  it("keeps upstream credentials sealed in the copy", async () => {
    await post("/api/v1/models", { model_name: "m", api_key: "sk-upstream" });
    const [text] = await control.store.get([storeKeys.model("m")]);
    const copy = modelRecordSchema.parse(JSON.parse(text ?? "null"));
    expect(copy.api_key).toMatch(/^enc:v1:/);
    expect(text).not.toContain("sk-upstream");
  });

  it("says pending while a cell does not confirm, and retries until it does", async () => {
    control.cell.fail = true;
    const beganMs = Date.now();
    const response = await control.request("POST", "/api/v1/models", { model_name: "m" });
    expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
      status: 200,
      "x-gateway-sync": "pending",
    });
    const { pending, sinceMs } = await control.publisher.backlog();
    expect({ pending, isSinceThen: sinceMs !== null && sinceMs >= beganMs && sinceMs <= Date.now() }).toEqual({
      pending: 1,
      isSinceThen: true,
    });
    control.cell.fail = false;
    expect(await control.publisher.publishDue(new Date(Date.now() + 60_000))).toBe(0);
    expect(control.cell.items).toContainEqual(expect.objectContaining({ kind: "model", id: "m" }));
  });

  it("publishes everything but the copy that cannot be built", async () => {
    const write = async (name: string): Promise<void> => {
      const response = await control.request("POST", "/api/v1/models", { model_name: name });
      expect(response.headers.get("x-gateway-sync")).toBe("pending");
    };
    control.cell.fail = true;
    for (const name of ["a", "b", "broken", "c", "d"]) await write(name);
    await control.connection.db.execute(
      sql`UPDATE models SET endpoint_selection_mode = 'by taste' WHERE model_name = 'broken'`,
    );
    await control.store.put(["a", "b", "c", "d"].map((name) => ({ hotKey: storeKeys.model(name), text: null })));
    control.cell.fail = false;
    const soon = new Date(Date.now() + 60_000);
    expect(await control.publisher.publishDue(soon)).toBe(1);
    expect([...(await control.store.indexedModels())].sort()).toEqual(["a", "b", "broken", "c", "d"]);
    await control.connection.db.execute(sql`UPDATE models SET endpoint_selection_mode = 'failover'`);
    expect(await control.publisher.publishDue(new Date(soon.getTime() + 60_000))).toBe(0);
  });

  it("sends the cells their items although the store is down", async () => {
    await control.stopStore();
    const response = await control.request("POST", "/api/v1/models", { model_name: "m" });
    expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
      status: 200,
      "x-gateway-sync": "pending",
    });
    expect(control.cell.items).toContainEqual(expect.objectContaining({ kind: "model", id: "m" }));
  });
});
