/** @module-tag check */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { unseal } from "../../../shared/crypto/seal.ts";
import { type ModelRecord, modelRecordSchema, storeKeys } from "../../../shared/records.ts";
import type { Model } from "../../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../../shared/schema/model-endpoint.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { auditLog } from "../../db/schema/journal.ts";

let control: TestControl;
let model: Model;
let path = "";
let count = 0;
const BASE = "http://127.0.0.1:9/v1";

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  model = await send<Model>("POST", "/api/v1/models", { model_name: `model-${count}` });
  path = `/api/v1/models/${model.id}/endpoints`;
  control.cell.items.length = 0;
});

async function send<T>(method: string, to: string, body?: unknown): Promise<T> {
  return (await (await control.request(method, to, body)).json()) as T;
}

async function copy(): Promise<ModelRecord> {
  const [text] = await control.store.get([storeKeys.model(model.model_name)]);
  return modelRecordSchema.parse(JSON.parse(text ?? "null"));
}

describe("endpoints of a model", () => {
  it("are created with their defaults, and stand in the model's copy with their secret sealed", async () => {
    const before = await copy();
    const endpoint = await send<ModelEndpoint>("POST", path, {
      name: "  first ",
      api_base: `${BASE}/`,
      api_key: "sk-upstream",
    });
    expect(endpoint).toEqual({
      id: endpoint.id,
      model_id: model.id,
      name: "first",
      api_base: BASE,
      api_key_set: true,
      auth_scheme: null,
      priority: 100,
      weight: 100,
      enabled: true,
      health_status: "unknown",
      consecutive_failures: 0,
      alert_state: "ok",
      last_checked_at: null,
      last_latency_ms: null,
      last_http_status: null,
      last_message: null,
      created_at: endpoint.created_at,
      updated_at: endpoint.created_at,
      rev: endpoint.rev,
    });
    const after = await copy();
    const [{ api_key, ...shown } = { api_key: null }] = after.endpoints;
    expect(shown).toEqual({
      id: endpoint.id,
      name: "first",
      api_base: BASE,
      auth_scheme: null,
      priority: 100,
      weight: 100,
      enabled: true,
      health_status: "unknown",
    });
    expect(api_key).toMatch(/^enc:v1:/);
    expect(await unseal(api_key ?? "", control.ctx.sealKey)).toBe("sk-upstream");
    expect(after.rev).toBeGreaterThan(before.rev);
    expect(control.cell.items).toEqual([{ kind: "model", id: model.model_name, rev: after.rev }]);
  });

  it("are listed and copied in the order of failover, page by page", async () => {
    for (const [name, priority] of [
      ["c", 5],
      ["b", 200],
      ["a", 200],
      ["d", 0],
    ] as const)
      await send("POST", path, { name, api_base: BASE, priority });
    expect((await copy()).endpoints.map((endpoint) => endpoint.name)).toEqual(["d", "c", "a", "b"]);
    const seen: string[] = [];
    let next: string | undefined = `${path}?limit=3`;
    while (next !== undefined) {
      const response: Response = await control.request("GET", next);
      seen.push(...((await response.json()) as ModelEndpoint[]).map((endpoint) => endpoint.name));
      next = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect(seen).toEqual(["d", "c", "a", "b"]);
  });

  it("keep what an update omits; the secret is kept by null and cleared by an empty text", async () => {
    const { id } = await send<ModelEndpoint>("POST", path, { name: "e", api_base: BASE, api_key: "k", weight: 7 });
    const disabled = await send<ModelEndpoint>("PUT", `${path}/${id}`, { enabled: false, api_key: null });
    expect(disabled).toMatchObject({ name: "e", api_base: BASE, weight: 7, enabled: false, api_key_set: true });
    expect((await copy()).endpoints).toMatchObject([{ enabled: false }]);
    expect(await send("PUT", `${path}/${id}`, { api_key: "" })).toMatchObject({ api_key_set: false });
    expect((await copy()).endpoints).toMatchObject([{ api_key: null }]);
  });

  it("lose their health with their address, and only then", async () => {
    const { id } = await send<ModelEndpoint>("POST", path, { name: "e", api_base: BASE });
    const sick = {
      health_status: "unhealthy",
      consecutive_failures: 4,
      alert_state: "firing",
      last_checked_at: new Date(),
      last_http_status: 500,
      next_check_at: null,
    };
    const mine = eq(modelEndpoints.id, id);
    await control.connection.db.update(modelEndpoints).set(sick).where(mine);
    const same = await send("PUT", `${path}/${id}`, { api_base: `${BASE}/`, weight: 3 });
    expect(same).toMatchObject({ health_status: "unhealthy", consecutive_failures: 4, alert_state: "firing" });
    expect(await send("PUT", `${path}/${id}`, { api_base: "http://127.0.0.1:10/v1" })).toMatchObject({
      health_status: "unknown",
      consecutive_failures: 0,
      alert_state: "ok",
      last_checked_at: null,
      last_http_status: null,
    });
    const [row] = await control.connection.db.select().from(modelEndpoints).where(mine);
    expect(row?.next_check_at).not.toBeNull();
  });

  it("go with a delete, or with their model", async () => {
    const { id } = await send<ModelEndpoint>("POST", path, { name: "e", api_base: BASE });
    expect((await control.request("DELETE", `${path}/${id}`)).status).toBe(204);
    expect((await control.request("DELETE", `${path}/${id}`)).status).toBe(404);
    expect((await copy()).endpoints).toEqual([]);
    await send("POST", path, { name: "e", api_base: BASE });
    await control.request("DELETE", `/api/v1/models/${model.id}`);
    expect(await control.connection.db.$count(modelEndpoints, eq(modelEndpoints.model_id, model.id))).toBe(0);
  });

  it("have names of their own within a model, and belong to it alone", async () => {
    const { id } = await send<ModelEndpoint>("POST", path, { name: "one", api_base: BASE });
    const two = await send<ModelEndpoint>("POST", path, { name: "two", api_base: BASE });
    for (const response of [
      await control.request("POST", path, { name: "one", api_base: BASE }),
      await control.request("PUT", `${path}/${two.id}`, { name: "one" }),
    ])
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 409,
        body: { error: { code: "already_exists", message: "model endpoint 'one' already exists", param: "name" } },
      });
    const other = await send<Model>("POST", "/api/v1/models", { model_name: `other-${count}` });
    const elsewhere = `/api/v1/models/${other.id}/endpoints`;
    expect((await control.request("PUT", `${elsewhere}/${id}`, { weight: 1 })).status).toBe(404);
    expect((await control.request("DELETE", `${elsewhere}/${id}`)).status).toBe(404);
    expect(await send("POST", elsewhere, { name: "one", api_base: BASE })).toMatchObject({ name: "one" });
  });

  it("leave audit entries without secrets", async () => {
    const begun = await control.connection.db.$count(auditLog);
    const { id } = await send<ModelEndpoint>("POST", path, { name: "e", api_base: BASE, api_key: "old-secret" });
    await send("PUT", `${path}/${id}`, { weight: 1, api_key: "new-secret" });
    await control.request("DELETE", `${path}/${id}`);
    const entries = await control.connection.db.select().from(auditLog).orderBy(auditLog.id).offset(begun);
    expect(
      entries.map(({ action, entity_type, entity_id, detail }) => [action, entity_type, entity_id, detail]),
    ).toEqual([
      ["create_model_endpoint", "model_endpoint", id, { model_id: model.id, name: "e", api_base: BASE }],
      [
        "update_model_endpoint",
        "model_endpoint",
        id,
        { model_id: model.id, changed: { weight: [100, 1], api_key: "changed" } },
      ],
      ["delete_model_endpoint", "model_endpoint", id, { model_id: model.id, name: "e" }],
    ]);
  });

  it.each([
    [{}, "name"],
    [{ name: " ", api_base: BASE }, "name"],
    [{ name: "e" }, "api_base"],
    [{ name: "e", api_base: " / " }, "api_base"],
    [{ name: "e", api_base: "host/v1" }, "api_base"],
    [{ name: "e", api_base: "http://169.254.169.254/v1" }, "api_base"],
    [{ name: "e", api_base: BASE, priority: -1 }, "priority"],
    [{ name: "e", api_base: BASE, weight: 0 }, "weight"],
    [{ name: "e", api_base: BASE, enabled: "yes" }, "enabled"],
    [{ name: "e", api_base: BASE, api_key: "a\nb" }, "api_key"],
    [{ name: "e", api_base: BASE, api_key: "enc:v1:AAAA" }, "api_key"],
  ])("refuse %j by naming %s, and change nothing", async (body, field) => {
    const before = await copy();
    const { id } = await send<ModelEndpoint>("POST", path, { name: "kept", api_base: BASE });
    control.cell.items.length = 0;
    const kept = await copy();
    const created = await control.request("POST", path, body);
    expect({ status: created.status, body: await created.json() }).toMatchObject({
      status: 400,
      body: { error: { param: field } },
    });
    if (field in body && field !== "api_base") {
      const updated = await control.request("PUT", `${path}/${id}`, body);
      expect({ status: updated.status, body: await updated.json() }).toMatchObject({
        status: 400,
        body: { error: { param: field } },
      });
    }
    expect({ copy: await copy(), items: control.cell.items, endpoints: before.endpoints }).toEqual({
      copy: kept,
      items: [],
      endpoints: [],
    });
  });
});

describe("reliability and cache of a model", () => {
  it("replace what they name; what is omitted takes its default", async () => {
    const one = `/api/v1/models/${model.id}`;
    const wanted = {
      request_timeout_secs: 5,
      first_token_timeout_secs: 4,
      idle_timeout_secs: 3,
      stream_keepalive_secs: 0,
      max_retries: 3,
      retry_backoff_ms: 0,
      endpoint_selection_mode: "session_hash",
      debug_diagnostics: true,
    };
    expect(await send("PUT", `${one}/reliability`, wanted)).toMatchObject(wanted);
    expect(await copy()).toMatchObject(wanted);
    const defaults = {
      request_timeout_secs: null,
      first_token_timeout_secs: null,
      idle_timeout_secs: null,
      stream_keepalive_secs: 25,
      max_retries: 1,
      retry_backoff_ms: 200,
      endpoint_selection_mode: "failover",
      debug_diagnostics: false,
    };
    expect(await send("PUT", `${one}/reliability`, { max_retries: 1 })).toMatchObject(defaults);
    expect(await send("PUT", `${one}/cache`, { cache_enabled: true, cache_ttl_secs: 60 })).toMatchObject({
      cache_enabled: true,
      cache_ttl_secs: 60,
    });
    expect(await send("PUT", `${one}/cache`, { cache_enabled: false })).toMatchObject({ cache_ttl_secs: 300 });
    expect(await copy()).toMatchObject({ ...defaults, cache_enabled: false, cache_ttl_secs: 300 });
  });

  it.each([
    ["reliability", { max_retries: 11 }, "max_retries"],
    ["reliability", { retry_backoff_ms: 60_001 }, "retry_backoff_ms"],
    ["reliability", { request_timeout_secs: 0 }, "request_timeout_secs"],
    ["reliability", { first_token_timeout_secs: 0 }, "first_token_timeout_secs"],
    ["reliability", { idle_timeout_secs: 86_401 }, "idle_timeout_secs"],
    ["reliability", { stream_keepalive_secs: null }, "stream_keepalive_secs"],
    ["reliability", { endpoint_selection_mode: "random" }, "endpoint_selection_mode"],
    ["reliability", { debug_diagnostics: 1 }, "debug_diagnostics"],
    ["cache", {}, "cache_enabled"],
    ["cache", { cache_enabled: "true" }, "cache_enabled"],
    ["cache", { cache_enabled: true, cache_ttl_secs: 0 }, "cache_ttl_secs"],
    ["cache", { cache_enabled: true, cache_ttl_secs: 2_592_001 }, "cache_ttl_secs"],
  ])("%s refuses %j by naming %s", async (part, body, field) => {
    const response = await control.request("PUT", `/api/v1/models/${model.id}/${part}`, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field } },
    });
  });
});
