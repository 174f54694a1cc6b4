import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedKey, ListedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenants: readonly Tenant[];
let created: readonly CreatedKey[];

beforeAll(async () => {
  control = await startControl();
  tenants = [
    await send<Tenant>("POST", "/api/v1/tenants", { name: "one" }),
    await send<Tenant>("POST", "/api/v1/tenants", { name: "two" }),
  ];
  const keys: CreatedKey[] = [];
  for (const name of ["alpha", "Beta 100%", "gamma"])
    for (const tenant of tenants)
      keys.push(await send<CreatedKey>("POST", `/api/v1/tenants/${tenant.id}/keys`, { name }));
  created = keys;
  await send("PUT", `/api/v1/keys/${created[0]?.key.id ?? ""}/disabled`, { disabled: true });
});
afterAll(async () => {
  await control.close();
});

async function send<T>(method: string, to: string, body?: unknown): Promise<T> {
  return (await (await control.request(method, to, body)).json()) as T;
}

async function list(query: string): Promise<ListedKey[]> {
  return await send<ListedKey[]>("GET", `/api/v1/keys?${query}`);
}

describe("keys across tenants", () => {
  it("are listed newest first, with their tenant and without a secret", async () => {
    const rows = await list("");
    expect(rows.map((row) => row.id)).toEqual(created.map(({ key }) => key.id).reverse());
    expect(rows[0]).toMatchObject({
      tenant_id: tenants[1]?.id,
      tenant_name: "two",
      tenant_status: "active",
      name: "gamma",
      disabled: false,
    });
    expect(Object.keys(rows[0] ?? {})).not.toContain("key_hash");
  });

  it("are paged without losing or doubling one", async () => {
    const seen: string[] = [];
    let path: string | undefined = "/api/v1/keys?limit=4&q=a";
    while (path !== undefined) {
      const response: Response = await control.request("GET", path);
      seen.push(...((await response.json()) as ListedKey[]).map((row) => row.id));
      path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect(seen).toEqual((await list("q=a")).map((row) => row.id));
  });

  it("are filtered by tenant, state and a part of name or prefix, taken as it is typed", async () => {
    expect(await list(`tenant_id=${tenants[0]?.id.toUpperCase() ?? ""}`)).toHaveLength(3);
    expect((await list("disabled=true")).map((row) => row.id)).toEqual([created[0]?.key.id]);
    expect(await list("disabled=false")).toHaveLength(5);
    expect((await list("q=BETA")).map((row) => row.name)).toEqual(["Beta 100%", "Beta 100%"]);
    expect(await list("q=%25")).toHaveLength(2);
    expect(await list("q=_")).toHaveLength(6);
    expect(await list("q=sk%25")).toEqual([]);
    const prefix = created[3]?.key.key_prefix ?? "";
    expect((await list(`q=${prefix.slice(2).toUpperCase()}`)).map((row) => row.id)).toEqual([created[3]?.key.id]);
    expect(await list(`tenant_id=${tenants[0]?.id ?? ""}&q=alpha&disabled=false`)).toEqual([]);
  });

  it.each([
    ["tenant_id=one", "tenant_id"],
    ["disabled=yes", "disabled"],
    ["q=%00", "q"],
    ["limit=0", "limit"],
    ["cursor=x", "cursor"],
  ])("refuse ?%s", async (query, field) => {
    const response = await control.request("GET", `/api/v1/keys?${query}`);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: field } },
    });
  });
});
