/** Searches of tenants and models (docs/rules/management-api.md#searches). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
  await send("POST", "/api/v1/fairshare/groups", { name: "batch" });
  const tenants = [
    { name: "Physics 100%", description: "Faculty_A", contact: "ada@example.org" },
    { name: "chemistry", description: "Faculty B", fairshare_group: "batch" },
    { name: "history", contact: "HERODOTUS@example.org", fairshare_group: "batch" },
    { name: "Çatalhöyük", description: "\\" },
  ];
  for (const tenant of tenants) await send("POST", "/api/v1/tenants", tenant);
  const [first] = await found("q=100%25");
  await send("PATCH", `/api/v1/tenants/${first?.id ?? ""}/status`, { status: "suspended" });
  for (const [model_name, upstream_model] of [
    ["llama_3", "meta/Llama-3"],
    ["fast", "Mistral-7B"],
    ["llama-4", "meta/other"],
  ])
    await send("POST", "/api/v1/models", { model_name, upstream_model, api_base: "http://127.0.0.1:9/v1" });
});
afterAll(async () => {
  await control.close();
});

async function send<T>(method: string, to: string, body?: unknown): Promise<T> {
  const response = await control.request(method, to, body);
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as T;
}

const found = async (query: string): Promise<Tenant[]> => await send<Tenant[]>("GET", `/api/v1/tenants?${query}`);

const names = async (query: string): Promise<string[]> => (await found(query)).map(({ name }) => name);

describe("tenants", () => {
  it.each([
    ["q=CHEM", ["chemistry"]],
    ["q=herodotus", ["history"]],
    ["q=faculty", ["Physics 100%", "chemistry"]],
    ["q=%25", ["Physics 100%"]],
    ["q=_", ["Physics 100%"]],
    ["q=%5C", ["Çatalhöyük"]],
    ["q=h%C3%B6y", ["Çatalhöyük"]],
    ["q=%27%20OR%20true", []],
    ["q=", ["Physics 100%", "chemistry", "history", "Çatalhöyük"]],
    ["status=suspended", ["Physics 100%"]],
    ["group=batch", ["chemistry", "history"]],
    ["group=Batch", []],
    ["group=batch&q=faculty&status=active", ["chemistry"]],
  ])("are found by %s", async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  it("are paged as without a search", async () => {
    const seen: string[] = [];
    let path: string | undefined = "/api/v1/tenants?limit=1&q=y&status=active";
    while (path !== undefined) {
      const response: Response = await control.request("GET", path);
      const rows = (await response.json()) as Tenant[];
      expect(rows).toHaveLength(1);
      seen.push(...rows.map(({ name }) => name));
      path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect(seen).toEqual(["chemistry", "history", "Çatalhöyük"]);
  });

  it.each([
    ["status=gone", "status"],
    ["q=%00", "q"],
    ["group=%00", "group"],
  ])("are not listed by %s: the answer names the parameter", async (query, param) => {
    const response = await control.request("GET", `/api/v1/tenants?${query}`);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param } },
    });
  });
});

describe("models", () => {
  it.each([
    ["q=LLAMA", ["llama-4", "llama_3"]],
    ["q=mistral", ["fast"]],
    ["q=_", ["llama_3"]],
    ["q=nothing", []],
  ])("are found by %s", async (query, expected) => {
    const rows = await send<Model[]>("GET", `/api/v1/models?${query}`);
    expect(rows.map(({ model_name }) => model_name).toSorted()).toEqual(expected);
  });
});
