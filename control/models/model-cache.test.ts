/**
 * The time that cached answers live has limits while the cache is on (docs/rules/models.md#fields), on every route that
 * writes it.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { modelRecordSchema, storeKeys } from "../../shared/records.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import type { Model } from "../../shared/schema/model.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let model: Model;
let count = 0;
const BASE = { upstream_model: "m", api_base: "" };

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  model = (await (await control.request("POST", "/api/v1/models", { model_name: `m-${count}` })).json()) as Model;
});

const put = async (part: string, body: object) => {
  const response = await control.request("PUT", `/api/v1/models/${model.id}${part}`, body);
  return { status: response.status, body: await response.json() };
};
const refused = { status: 400, body: { error: { code: "validation_failed", param: "cache_ttl_secs" } } };

describe("the time that cached answers live", () => {
  it.each([0, 2_592_001, 2_147_483_647])("is %i while the cache is off, and stored so", async (cache_ttl_secs) => {
    const off = { cache_enabled: false, cache_ttl_secs };
    expect(await put("/cache", off)).toMatchObject({ status: 200, body: off });
    expect(await put("", { ...BASE, ...off })).toMatchObject({ status: 200, body: off });
    const created = await control.request("POST", "/api/v1/models", { model_name: `off-${count}`, ...off });
    expect({ status: created.status, body: await created.json() }).toMatchObject({ status: 200, body: off });
    const [text] = await control.store.get([storeKeys.model(model.model_name)]);
    expect(modelRecordSchema.parse(JSON.parse(text ?? "null"))).toMatchObject(off);
  });

  it.each([0, 2_592_001])("is not %i while the cache is on", async (cache_ttl_secs) => {
    const on = { cache_enabled: true, cache_ttl_secs };
    expect(await put("/cache", on)).toMatchObject(refused);
    expect(await put("", { ...BASE, ...on })).toMatchObject(refused);
    const created = await control.request("POST", "/api/v1/models", { model_name: "on", ...on });
    expect({ status: created.status, body: await created.json() }).toMatchObject(refused);
  });

  it("is never whatever no number can be", async () => {
    for (const cache_ttl_secs of [-1, 1.5, 2_147_483_648, "300", null])
      expect({ cache_ttl_secs, ...(await put("/cache", { cache_enabled: false, cache_ttl_secs })) }).toMatchObject({
        cache_ttl_secs,
        ...refused,
      });
  });

  it("is checked with what is stored when only one of the two is changed", async () => {
    await put("/cache", { cache_enabled: false, cache_ttl_secs: 0 });
    expect(await put("", { ...BASE, cache_enabled: true })).toMatchObject(refused);
    expect(await put("", { ...BASE, cache_enabled: true, cache_ttl_secs: 60 })).toMatchObject({
      status: 200,
      body: { cache_ttl_secs: 60 },
    });
    expect(await put("", { ...BASE, cache_ttl_secs: 0 })).toMatchObject(refused);
    expect(await put("", { ...BASE, cache_ttl_secs: 0, model_name: "another" })).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: "model_name" }, { path: "cache_ttl_secs" }] } },
    });
    expect(await put("", { ...BASE, description: "kept" })).toMatchObject({
      status: 200,
      body: { cache_enabled: true, cache_ttl_secs: 60 },
    });
  });

  it("comes back from a backup as it was, and is held to the rule there", async () => {
    await put("/cache", { cache_enabled: false, cache_ttl_secs: 0 });
    const file = (await (await control.request("GET", "/api/v1/backup/export")).json()) as Backup;
    const restored = await control.request("POST", "/api/v1/backup/restore", file);
    expect(restored.status).toBe(200);
    expect(await put("", BASE)).toMatchObject({ status: 200, body: { cache_enabled: false, cache_ttl_secs: 0 } });
    const at = file.data.models.findIndex((row) => row.id === model.id);
    const wrong = file.data.models.map((row) => (row.id === model.id ? { ...row, cache_enabled: true } : row));
    const body = { ...file, data: { ...file.data, models: wrong } };
    const response = await control.request("POST", "/api/v1/backup/restore", body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: `data.models.${at}.cache_ttl_secs` } },
    });
  });
});
