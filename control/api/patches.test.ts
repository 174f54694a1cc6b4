/**
 * A PATCH merges: absent keeps, null sets the default, also of a credential (docs/rules/management-api.md#changes).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

type Fields = Readonly<Record<string, unknown>>;
async function send(method: string, path: string, body: object): Promise<Fields> {
  const response = await control.request(method, `/api/v1${path}`, body);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return JSON.parse(text) as Fields;
}

it("changes one field of a model, and every null to its default", async () => {
  const given = {
    model_name: "patched",
    upstream_model: "u",
    api_base: "http://127.0.0.1:9/v1",
    api_key: "k",
    tags: ["fast"],
    max_in_flight: 3,
    admission_weight: 7,
    cache_enabled: true,
    health: { checks_enabled: false, failure_threshold: 5 },
  };
  const made = await send("POST", "/models", given);
  const path = `/models/${String(made["id"])}`;
  const weighed = await send("PATCH", path, { admission_weight: 8 });
  expect(weighed).toEqual({ ...made, admission_weight: 8, rev: weighed["rev"], updated_at: weighed["updated_at"] });
  const checked = await send("PATCH", path, { health: { failure_threshold: null } });
  expect(checked["health"]).toMatchObject({ checks_enabled: false, failure_threshold: 2 });
  const nothing = Object.fromEntries(Object.keys(given).map((name) => [name, null]));
  const cleared = await send("PATCH", path, { ...nothing, model_name: "patched" });
  const plain = await send("POST", "/models", { model_name: "plain" });
  const settable = (record: Fields): Fields =>
    Object.fromEntries([...Object.keys(given), "api_key_set"].map((name) => [name, record[name]]));
  expect(settable(cleared)).toEqual({ ...settable(plain), model_name: "patched", upstream_model: "patched" });
});

it("refuses another name of a model, and a cache without a time to live", async () => {
  const made = await send("POST", "/models", { model_name: "kept" });
  await send("PATCH", `/models/${String(made["id"])}`, { cache_ttl_secs: 0 });
  for (const [body, param] of [
    [{ model_name: "other" }, "model_name"],
    [{ cache_enabled: true }, "cache_ttl_secs"],
  ] as const) {
    const response = await control.request("PATCH", `/api/v1/models/${String(made["id"])}`, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param } },
    });
  }
});

it("keeps the credential of an MCP server when it is absent, and clears it for null", async () => {
  const made = await send("POST", "/mcp-servers", {
    name: "patched",
    upstream_url: "http://127.0.0.1:9/mcp",
    auth_header: "Bearer x",
    enabled: false,
  });
  const path = `/mcp-servers/${String(made["id"])}`;
  expect(await send("PATCH", path, { enabled: null })).toMatchObject({ enabled: true, auth_header_set: true });
  expect(await send("PUT", path, { auth_header: null })).toMatchObject({ auth_header_set: true });
  expect(await send("PATCH", path, { auth_header: null })).toMatchObject({ auth_header_set: false, name: "patched" });
});

it("takes every field of a key at once", async () => {
  const { id } = await send("POST", "/tenants", { name: "of keys" });
  const { key } = await send("POST", `/tenants/${String(id)}/keys`, { name: "k", budget_tokens: 5, disabled: true });
  const made = key as Fields;
  expect(made).toMatchObject({ disabled: true, tracing_enabled: false });
  const path = `/keys/${String(made["id"])}`;
  const change = { disabled: false, tracing_enabled: true, budget_cost_usd: 2, allowed_models: ["m"] };
  expect(await send("PATCH", path, change)).toMatchObject({ ...change, name: "k", budget_tokens: 5 });
  expect(await send("PATCH", path, { name: null, budget_tokens: null, budget_cost_usd: null })).toMatchObject({
    name: "",
    budget_started_at: null,
    allowed_models: ["m"],
  });
});
