/**
 * The fallbacks of a model as an admin sets them (docs/rules/models.md#fallback-models).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { modelRecordSchema, storeKeys } from "../../shared/records.ts";
import type { Model } from "../../shared/schema/model.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

async function send(method: string, path: string, body: object) {
  const response = await control.request(method, `/api/v1${path}`, body);
  const json = (await response.json()) as Model & { error?: { details: unknown } };
  return { status: response.status, model: json, details: json.error?.details };
}

const create = async (name: string, fields: object = {}) =>
  (await send("POST", "/models", { model_name: name, ...fields })).model;

const refusal = (message: string) => ({ status: 400, details: [{ path: "fallback_models", message }] });

it("a new model has none, and would fall back on failures", async () => {
  expect(await create("plain")).toMatchObject({ fallback_models: [], fallback_on: ["failure"] });
});

it("are in the record and in the copy, in their order, and null takes them away", async () => {
  const { id } = await create("ordered");
  const fields = { fallback_models: ["z", "a", "not registered"], fallback_on: ["context_length"] };
  expect(await send("PATCH", `/models/${id}`, fields)).toMatchObject({ status: 200, model: fields });
  const [copy] = await control.store.get([storeKeys.model("ordered")]);
  expect(modelRecordSchema.parse(JSON.parse(copy ?? "null"))).toMatchObject(fields);
  const cleared = await send("PATCH", `/models/${id}`, { fallback_models: null, fallback_on: null });
  expect(cleared.model).toMatchObject({ fallback_models: [], fallback_on: ["failure"] });
});

it("never lead back to the model, over any number of others, when it is changed or created", async () => {
  const first = await create("first", { fallback_models: ["second"] });
  await create("second", { fallback_models: ["other", "third"] });
  const leadsBack = "leads back to the model: 'second' falls back to it";
  expect(await send("POST", "/models", { model_name: "third", fallback_models: ["first"] })).toMatchObject(
    refusal(leadsBack),
  );
  const third = await create("third");
  const path = `/models/${third.id}`;
  expect(await send("PATCH", path, { fallback_models: ["first"] })).toMatchObject(refusal(leadsBack));
  expect(await send("PATCH", path, { fallback_models: ["third"] })).toMatchObject(
    refusal("must not contain the model itself"),
  );
  await send("PATCH", `/models/${first.id}`, { fallback_models: [] });
  expect(await send("PATCH", path, { fallback_models: ["first"] })).toMatchObject({ status: 200 });
});

it.each([
  ["auto", { fallback_models: ["auto"] }, "fallback_models"],
  ["too many", { fallback_models: "123456789".split("") }, "fallback_models"],
  ["an unknown reason", { fallback_on: ["never"] }, "fallback_on.0"],
])("refuse %s", async (_, fields, path) => {
  expect(await send("POST", "/models", { model_name: "refused", ...fields })).toMatchObject({
    status: 400,
    details: [{ path }],
  });
});
