import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ResolvedKey, resolvedKeySchema } from "../../shared/records.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
const groups = "/api/v1/fairshare/groups";

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

async function send(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  return (await (await control.request(method, path, body)).json()) as Record<string, unknown>;
}

async function allGroups(): Promise<string> {
  return await (await control.request("GET", `${groups}?limit=1000`)).text();
}

/** Key copies of a tenant. */
async function copiesOf(tenantId: string): Promise<readonly ResolvedKey[]> {
  const names: string[] = [];
  for await (const batch of control.store.scan("key:*")) names.push(...batch);
  const copies = (await control.store.get(names)).map((text) => resolvedKeySchema.parse(JSON.parse(text ?? "null")));
  return copies.filter((copy) => copy.tenant?.id === tenantId);
}

async function tenantWithKeys(body: object, keys: number): Promise<string> {
  const id = String((await send("POST", "/api/v1/tenants", body))["id"]);
  for (let count = 0; count < keys; count += 1) await send("POST", `/api/v1/tenants/${id}/keys`, {});
  return id;
}

describe("fairshare groups", () => {
  it("start with the default group, and are created with its weight", async () => {
    expect(JSON.parse(await allGroups())).toMatchObject([{ name: "default", weight: 100 }]);
    const group = await send("POST", groups, { name: "  plain  " });
    expect(group).toEqual({
      name: "plain",
      weight: 100,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      rev: expect.any(Number),
    });
  });

  it("have unique names", async () => {
    const before = await allGroups();
    const response = await control.request("POST", groups, { name: "default" });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 409,
      body: { error: { code: "already_exists", message: "fairshare group 'default' already exists", param: "name" } },
    });
    expect(await allGroups()).toBe(before);
  });

  it.each([
    [{}, "name"],
    [{ name: " " }, "name"],
    [{ name: "x".repeat(201) }, "name"],
    [{ name: "." }, "name"],
    [{ name: " .. " }, "name"],
    [{ name: "a/b" }, "name"],
    [{ name: "a\\b" }, "name"],
    [{ name: "n", weight: 0 }, "weight"],
    [{ name: "n", weight: 1_000_001 }, "weight"],
    [{ name: "n", weight: "2" }, "weight"],
  ])("refuse %j by naming %s, and change nothing", async (body, field) => {
    const before = await allGroups();
    const response = await control.request("POST", groups, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field, details: [{ path: field }] } },
    });
    expect(await allGroups()).toBe(before);
  });

  it("are paged by name", async () => {
    for (const name of ["b", "c", "a"]) await send("POST", groups, { name });
    const all = (JSON.parse(await allGroups()) as { name: string }[]).map((group) => group.name);
    expect(all).toEqual([...all].sort());
    const seen: string[] = [];
    let path: string | undefined = `${groups}?limit=2`;
    while (path !== undefined) {
      const response: Response = await control.request("GET", path);
      seen.push(...((await response.json()) as { name: string }[]).map((group) => group.name));
      path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect(seen).toEqual(all);
  });
});

describe("the weight of a group", () => {
  it("reaches every key of its tenants, no other, with one item", async () => {
    await send("POST", groups, { name: "gold line" });
    const inside = [
      await tenantWithKeys({ name: "in-1", fairshare_group: "gold line" }, 2),
      await tenantWithKeys({ name: "in-2", fairshare_group: "gold line" }, 1),
    ];
    const outside = await tenantWithKeys({ name: "out" }, 1);
    const untouched = await copiesOf(outside);
    control.cell.items.length = 0;
    const response = await control.request("PATCH", `${groups}/gold%20line/weight`, { weight: 250 });
    expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
      status: 200,
      "x-gateway-sync": null,
    });
    expect(await response.json()).toMatchObject({ name: "gold line", weight: 250 });
    const copies = [...(await copiesOf(inside[0] ?? "")), ...(await copiesOf(inside[1] ?? ""))];
    expect(copies.map((copy) => copy.tenant?.group_weight)).toEqual([250, 250, 250]);
    const rev = copies[0]?.tenant?.group_rev;
    expect(copies.every((copy) => copy.tenant?.group_rev === rev)).toBe(true);
    expect(control.cell.items).toEqual([{ kind: "group", id: "gold line", rev }]);
    expect(await copiesOf(outside)).toEqual(untouched);
  });

  it.each([{}, { weight: 0 }, { weight: 1.5 }, { weight: 1_000_001 }, { weight: null }])(
    "refuses %j and changes nothing",
    async (body) => {
      const before = await allGroups();
      control.cell.items.length = 0;
      const response = await control.request("PATCH", `${groups}/default/weight`, body);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { code: "validation_failed", param: "weight" } },
      });
      expect({ allGroups: await allGroups(), items: control.cell.items }).toEqual({ allGroups: before, items: [] });
    },
  );

  it.each(["nowhere", "%20", "a%00b", "x".repeat(300)])("is 404 for the group %s", async (name) => {
    const response = await control.request("PATCH", `${groups}/${name}/weight`, { weight: 2 });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 404,
      body: { error: { code: "not_found" } },
    });
  });
});

describe("a renamed group", () => {
  it("keeps weight and tenants, whose keys know the new name", async () => {
    await send("POST", groups, { name: "old", weight: 7 });
    const id = await tenantWithKeys({ name: "of the old group", fairshare_group: "old" }, 2);
    const renamed = await send("PATCH", `${groups}/old`, { name: "new" });
    expect(renamed).toMatchObject({ name: "new", weight: 7 });
    expect((await control.request("GET", `/api/v1/tenants/${id}`)).status).toBe(200);
    expect(await send("GET", `/api/v1/tenants/${id}`)).toMatchObject({ fairshare_group: "new" });
    expect((await copiesOf(id)).map(({ tenant }) => [tenant?.fairshare_group, tenant?.group_weight])).toEqual([
      ["new", 7],
      ["new", 7],
    ]);
    expect(JSON.parse(await allGroups())).not.toContainEqual(expect.objectContaining({ name: "old" }));
  });

  it.each([
    ["to a name that another has", "taken", { name: "default" }, 409, "already_exists"],
    ["to a name that cannot be in a path", "taken", { name: "a/b" }, 400, "validation_failed"],
    ["if it is the default group", "default", { name: "other" }, 400, "validation_failed"],
    ["that does not exist", "nobody", { name: "other" }, 404, "not_found"],
  ])("is refused %s", async (_, from, body, status, code) => {
    await control.request("POST", groups, { name: "taken" });
    const answer = await control.request("PATCH", `${groups}/${from}`, body);
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({ status, body: { error: { code } } });
  });
});

describe("a group", () => {
  it("is deleted once no tenant is in it", async () => {
    await send("POST", groups, { name: "short" });
    const id = await tenantWithKeys({ name: "the last", fairshare_group: "short" }, 0);
    const refused = await control.request("DELETE", `${groups}/short`);
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: "name", message: "has tenants: move them to another group first" }] } },
    });
    await send("PATCH", `/api/v1/tenants/${id}`, { fairshare_group: "default" });
    expect((await control.request("DELETE", `${groups}/short`)).status).toBe(204);
    expect((await control.request("DELETE", `${groups}/short`)).status).toBe(404);
  });

  it("stays if it is the default one", async () => {
    expect((await control.request("DELETE", `${groups}/default`)).status).toBe(400);
  });
});
