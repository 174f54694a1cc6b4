/** @module-tag check */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ModelRecord, modelRecordSchema, storeKeys } from "../../shared/records.ts";
import type { Model } from "../../shared/schema/model.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let model: Model;
let count = 0;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  const body = { model_name: `model-${count}`, max_in_flight: 4, admission_weight: 150, api_key: "sk-upstream" };
  model = (await (await control.request("POST", "/api/v1/models", body)).json()) as Model;
  control.cell.items.length = 0;
});

async function read(): Promise<Model> {
  return (await (await control.request("GET", `/api/v1/models/${model.id}`)).json()) as Model;
}

async function copy(): Promise<ModelRecord> {
  const [text] = await control.store.get([storeKeys.model(model.model_name)]);
  return modelRecordSchema.parse(JSON.parse(text ?? "null"));
}

describe("controls of a model", () => {
  it.each([
    ["capacity", { max_in_flight: 9 }],
    ["capacity", { max_in_flight: null }],
    ["weight", { admission_weight: 1 }],
    ["weight", { admission_weight: 10_000 }],
  ])("%s %j changes only that, in the record and in the copy", async (part, body) => {
    const before = await copy();
    const response = await control.request("PUT", `/api/v1/models/${model.id}/${part}`, body);
    expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
      status: 200,
      "x-gateway-sync": null,
    });
    const after = (await response.json()) as Model;
    expect(after).toEqual({ ...model, ...body, updated_at: after.updated_at, rev: after.rev });
    expect(await read()).toEqual(after);
    const { rev } = await copy();
    expect(await copy()).toEqual({ ...before, ...body, rev });
    expect(control.cell.items).toEqual([{ kind: "model", id: model.model_name, rev }]);
    expect(rev).toBeGreaterThan(before.rev);
  });

  it("stand in creates and updates as well", async () => {
    const body = { model_name: `tuned-${count}`, capacity_mode: "tuned", max_in_flight: 2 };
    const created = (await (await control.request("POST", "/api/v1/models", body)).json()) as Model;
    expect(created).toMatchObject({ capacity_mode: "tuned", max_in_flight: 2, capacity_tuned_at: null });
    const update = { upstream_model: "u", api_base: "", admission_weight: 7 };
    const path = `/api/v1/models/${created.id}`;
    expect(await (await control.request("PUT", path, update)).json()).toMatchObject({
      capacity_mode: "tuned",
      admission_weight: 7,
    });
    expect(await (await control.request("PUT", path, { ...update, capacity_mode: "static" })).json()).toMatchObject({
      capacity_mode: "static",
      max_in_flight: 2,
    });
  });

  it("keep the capacity with its mode, and the mode with the capacity", async () => {
    const path = `/api/v1/models/${model.id}`;
    const tuned = await (await control.request("PUT", `${path}/capacity-mode`, { capacity_mode: "tuned" })).json();
    expect(tuned).toMatchObject({ capacity_mode: "tuned", max_in_flight: 4, capacity_tuned_at: null });
    await control.request("PUT", `${path}/capacity`, { max_in_flight: 5 });
    expect(await read()).toMatchObject({ capacity_mode: "tuned", max_in_flight: 5 });
  });

  it.each([
    ["capacity", {}, "max_in_flight"],
    ["capacity", { max_in_flight: 0 }, "max_in_flight"],
    ["capacity", { max_in_flight: 1.5 }, "max_in_flight"],
    ["capacity", { max_in_flight: "4" }, "max_in_flight"],
    ["capacity-mode", {}, "capacity_mode"],
    ["capacity-mode", { capacity_mode: "auto" }, "capacity_mode"],
    ["weight", {}, "admission_weight"],
    ["weight", { admission_weight: 0 }, "admission_weight"],
    ["weight", { admission_weight: 10_001 }, "admission_weight"],
    ["weight", {}, "admission_weight"],
  ])("%s refuses %j by naming %s, and changes nothing", async (part, body, field) => {
    const before = await copy();
    const response = await control.request("PUT", `/api/v1/models/${model.id}/${part}`, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field, details: [{ path: field }] } },
    });
    expect({ read: await read(), copy: await copy(), items: control.cell.items }).toEqual({
      read: model,
      copy: before,
      items: [],
    });
  });
});

describe("a route of single fields", () => {
  const RELIABILITY = {
    request_timeout_secs: 5,
    first_token_timeout_secs: 3,
    idle_timeout_secs: 2,
    stream_keepalive_secs: 7,
    max_retries: 2,
    retry_backoff_ms: 10,
    endpoint_selection_mode: "load_balance",
    debug_diagnostics: true,
  };

  it.each<[string, object]>([
    ["capacity", { max_in_flight: 9 }],
    ["capacity", { max_in_flight: null }],
    ["capacity-mode", { capacity_mode: "tuned" }],
    ["weight", { admission_weight: 7 }],
    ["cache", { cache_enabled: true, cache_ttl_secs: 60 }],
    ["reliability", RELIABILITY],
  ])("%s %j changes a model as PATCH does", async (part, body) => {
    const path = `/api/v1/models/${model.id}`;
    const send = async (method: string, to: string, change: object): Promise<Partial<Model>> => {
      const response = await control.request(method, to, change);
      const { rev: _rev, updated_at: _updated, ...record } = (await response.json()) as Model;
      return record;
    };
    const { rev: _rev, updated_at: _updated, ...before } = model;
    const changed = await send("PUT", `${path}/${part}`, body);
    const isChanged = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(body, name);
    await send("PATCH", path, Object.fromEntries(Object.entries(before).filter(isChanged)));
    expect(await send("PATCH", path, body)).toEqual(changed);
    expect(changed).toEqual({ ...before, ...body });
  });
});
