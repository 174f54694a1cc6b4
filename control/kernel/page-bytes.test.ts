/**
 * A page of a list is bounded by bytes as well (docs/rules/management-api.md#lists): what is left comes on the next page.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ApiKey, CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

const PAGE_MAX_BYTES = 4 * 1024 * 1024;
const KEYS = 30;

let control: TestControl;
let tenant: Tenant;
const names = Array.from({ length: 1000 }, (_, nth) => `${nth}-${"x".repeat(185)}`);

beforeAll(async () => {
  control = await startControl();
  tenant = await control.must<Tenant>("POST", "/tenants", { name: "large" });
  for (let nth = 0; nth < KEYS; nth += 1)
    await control.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: `k${nth}`, allowed_models: names });
});
afterAll(async () => {
  await control.close();
});

it.each([
  ["/keys?limit=1000", "all keys"],
  ["/tenants/{id}/keys?limit=1000", "a tenant's keys"],
])("the pages of %s are no longer than that, and have every row once: %s", async (list) => {
  const found: string[] = [];
  const sizes: number[] = [];
  for (let path: string | undefined = `/api/v1${list.replace("{id}", tenant.id)}`; path !== undefined; ) {
    const answer = await control.request("GET", path);
    const text = await answer.text();
    sizes.push(text.length);
    found.push(...(JSON.parse(text) as ApiKey[]).map(({ name }) => name ?? ""));
    path = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  expect({
    rows: found.length,
    each: new Set(found).size,
    long: sizes.filter((size) => size > PAGE_MAX_BYTES),
  }).toEqual({ rows: KEYS, each: KEYS, long: [] });
});

it("a CSV file with a limit has as many rows as that", async () => {
  const text = await (await control.request("GET", "/api/v1/keys?limit=28&format=csv")).text();
  expect(text.trimEnd().split("\r\n")).toHaveLength(1 + 28);
});
