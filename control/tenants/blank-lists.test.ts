/** A list of models that has blanks alone (docs/rules/tenants.md#allowed-models) is a mistake: it must not permit every model. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenant: Tenant;
let key: CreatedKey["key"];

beforeAll(async () => {
  control = await startControl();
  tenant = await control.must<Tenant>("POST", "/tenants", { name: "bound", allowed_models: ["a"] });
  const body = { name: "bound", allowed_models: ["a"] };
  ({ key } = await control.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, body));
});
afterAll(async () => {
  await control.close();
});

it.each([
  ["POST", "/tenants"],
  ["PATCH", "/tenants/{tenant}"],
  ["PATCH", "/tenants/{tenant}/allowlist"],
  ["POST", "/tenants/{tenant}/keys"],
  ["PATCH", "/keys/{key}"],
])("%s %s refuses it by its name", async (method, path) => {
  const at = `/api/v1${path.replace("{tenant}", tenant.id).replace("{key}", key.id)}`;
  for (const allowed_models of [[""], [" ", "\t"]]) {
    const name = path.endsWith("allowlist") ? {} : { name: "bound again" };
    const answer = await control.request(method, at, { ...name, allowed_models });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: "allowed_models" } },
    });
  }
  const lists = {
    tenant: (await control.must<Tenant>("GET", `/tenants/${tenant.id}`)).allowed_models,
    key: (await control.must<CreatedKey["key"]>("GET", `/keys/${key.id}`)).allowed_models,
  };
  expect(lists).toEqual({ tenant: ["a"], key: ["a"] });
});
