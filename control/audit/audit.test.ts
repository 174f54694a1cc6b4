/** @module-tag check */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { auditLog } from "../db/schema/journal.ts";
import { users } from "../db/schema/users.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

async function list(query: string): Promise<AuditEntry[]> {
  return (await (await control.request("GET", `/api/v1/audit?${query}`)).json()) as AuditEntry[];
}

async function send<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body);
  const text = await response.text();
  expect({ method, path, outcome: response.ok || text }).toEqual({ method, path, outcome: true });
  return (text === "" ? null : JSON.parse(text)) as T;
}

async function tenantBy(actor: string, name: string): Promise<Tenant> {
  const headers = { "x-gateway-audit-actor": actor, "x-gateway-audit-address": "2001:db8::7" };
  const response = await control.request("POST", "/api/v1/tenants", { name }, headers);
  return (await response.json()) as Tenant;
}

describe("the audit log", () => {
  it("lists who changed what, the newest first", async () => {
    const tenant = await tenantBy("  ada@example.org ", "newest");
    await control.request("PUT", `/api/v1/tenants/${tenant.id}`, { description: "d" });
    const [second, first] = await list(`entity_id=${tenant.id}`);
    expect({ second, first }).toEqual({
      second: {
        id: expect.any(Number),
        ts: expect.stringMatching(/^\d{4}-.*Z$/),
        actor: "admin",
        address: "",
        action: "update_tenant",
        entity_type: "tenant",
        entity_id: tenant.id,
        detail: { changed: { description: ["", "d"] } },
      },
      first: expect.objectContaining({
        actor: "ada@example.org",
        address: "2001:db8::7",
        action: "create_tenant",
        detail: { name: "newest" },
      }),
    });
    expect(second?.id).toBeGreaterThan(first?.id ?? Number.POSITIVE_INFINITY);
  });

  it("refuses an invalid address", async () => {
    const refused = await control.request("GET", "/api/v1/audit", undefined, { "x-gateway-audit-address": "a\tb" });
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: "x-gateway-audit-address" } },
    });
  });

  it("takes exact filters, several actions, and bounds of time", async () => {
    const tenant = await tenantBy("filter", "filtered");
    for (const weight of [2, 3]) await control.request("PATCH", `/api/v1/tenants/${tenant.id}/weight`, { weight });
    const mine = `entity_id=${tenant.id}&entity_type=tenant`;
    const actions = async (query: string): Promise<string[]> =>
      (await list(`${mine}&${query}`)).map((entry) => entry.action);
    expect(await actions("actor=filter")).toEqual(["create_tenant"]);
    expect(await actions("actor=filte")).toEqual([]);
    expect(await actions("action=update_weight")).toEqual(["update_weight", "update_weight"]);
    expect(await actions("action=update_weight,create_tenant")).toHaveLength(3);
    expect(await list(`entity_type=model&entity_id=${tenant.id}`)).toEqual([]);
    const [newest] = await list(mine);
    const at = Date.parse(newest?.ts ?? "");
    expect(await actions(`since_ms=${at + 1}`)).toEqual([]);
    expect(await actions(`until_ms=${at}`)).toHaveLength(3);
    expect(await actions("until_ms=1")).toEqual([]);
    expect(await actions("until_ms=999999999999999")).toHaveLength(3);
    expect(await actions("since_ms=999999999999999")).toEqual([]);
  });

  it("pages through entries of one instant without losing or doubling any", async () => {
    const ts = new Date("2020-01-02T03:04:05.678Z");
    await control.connection.db.insert(auditLog).values(
      Array.from({ length: 7 }, (_, at) => ({
        ts,
        actor: "paged",
        action: "create_tenant",
        entity_type: "tenant",
        entity_id: String(at),
        detail: {},
      })),
    );
    const all = (await list("actor=paged")).map((entry) => entry.id);
    expect(all).toEqual([...all].sort((a, b) => b - a));
    const seen: number[] = [];
    let path: string | undefined = "/api/v1/audit?actor=paged&limit=2";
    while (path !== undefined) {
      const response: Response = await control.request("GET", path);
      seen.push(...((await response.json()) as AuditEntry[]).map((entry) => entry.id));
      path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect({ count: seen.length, seen }).toEqual({ count: 7, seen: all });
  });

  it("finds the history of an object by its id, also after it was deleted", async () => {
    const tenant = await tenantBy("x", "has what is deleted");
    const { key } = await send<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "k" });
    const model = await send<{ id: string }>("POST", "/models", { model_name: "deleted" });
    const server = await send<{ id: string }>("POST", "/mcp-servers", {
      name: "s",
      upstream_url: "http://127.0.0.1/m",
    });
    const person = {
      email: "d@example.org",
      name: "d",
      provider: "oidc",
      subject: "d",
      role: "user",
      status: "pending",
    };
    const [user] = await control.connection.db
      .insert(users)
      .values(person as typeof users.$inferInsert)
      .returning();
    const histories = [
      ["api_key", key.id, `/keys/${key.id}`, "PUT", { name: "l" }, ["delete_key", "update_key", "create_key"]],
      ["model", model.id, `/models/${model.id}`, "PUT", { description: "d" }, ["delete", "update", "create"]],
      ["mcp_server", server.id, `/mcp-servers/${server.id}`, "PUT", { name: "t" }, ["delete", "update", "create"]],
      ["user", user?.id ?? "", `/users/${user?.id}`, "PATCH", { status: "active" }, ["delete_user", "approve_user"]],
    ] as const;
    for (const [kind, id, path, method, change, actions] of histories) {
      const before = await send<object>("GET", path);
      await send(method, path, { ...before, ...change });
      await send("DELETE", path);
      const entries = await list(`entity_type=${kind}&entity_id=${id}`);
      const expected = actions.map((action) => (action.includes("_") ? action : `${action}_${kind}`));
      expect({ kind, actions: entries.map(({ action }) => action) }).toEqual({ kind, actions: expected });
      expect({ kind, changedFields: Object.keys(Object(entries[1]?.detail["changed"])) }).toEqual({
        kind,
        changedFields: Object.keys(change),
      });
    }
  });

  it("finds the history of a setting by its name", async () => {
    const changes = {
      alerts: {},
      assistant: { bench_max_requests: 9 },
      auto_router: {},
      boons: {},
      energy: {},
      jobsched: {},
      usage_retention: { days: 9 },
    };
    for (const [name, body] of Object.entries(changes)) {
      await send("PUT", `/settings/${name.replace("_", "-")}`, body);
      const entries = await list(`entity_type=settings&entity_id=${name}`);
      expect({ name, entryCount: entries.length }).toEqual({ name, entryCount: 1 });
      expect({ name, changedFields: Object.keys(Object(entries[0]?.detail["changed"])) }).toEqual({
        name,
        changedFields: Object.keys(body),
      });
    }
  });

  it("tells the events of all replicas of a model, also of those that are gone", async () => {
    const modelOf = async (model_name: string) => {
      const { id } = await send<{ id: string }>("POST", "/models", { model_name });
      await send("PUT", `/models/${id}/managed`, { partition: "p", serving_port: 8000, launch_command: "serve" });
      return id;
    };
    const replicaOf = async (model: string, job_id: string) =>
      (await send<{ id: string }>("POST", `/models/${model}/replicas`, { job_id })).id;
    const events = async (model: string, more = "") =>
      (await list(`replicas_of=${model}${more}`)).map(({ action, entity_id }) => [action, entity_id]);
    const first = await modelOf("same name");
    const [lost, restarted] = [await replicaOf(first, "1"), await replicaOf(first, "2")];
    await send("PATCH", `/replicas/${lost}`, { state: "lost" });
    await send("POST", `/replicas/${restarted}/restart`);
    await send("POST", `/models/${first}/replicas/clear-lost`);
    const all = [
      ["clear_lost_replicas", first],
      ["restart_replica", restarted],
      ["patch_replica", lost],
      ["create_replica", restarted],
      ["create_replica", lost],
    ];
    expect(await events(first)).toEqual(all);
    expect(await events(first.toUpperCase(), "&action=create_replica&limit=1")).toEqual([all[3]]);
    await send("DELETE", `/models/${first}`);
    const second = await modelOf("same name");
    const other = await replicaOf(second, "3");
    expect(await events(second)).toEqual([["create_replica", other]]);
    expect((await events(first)).slice(-all.length)).toEqual(all);
  });

  it.each([
    ["replicas_of=m", "replicas_of"],
    ["since_ms=yesterday", "since_ms"],
    ["until_ms=-1", "until_ms"],
    ["limit=0", "limit"],
    ["cursor=bm9uc2Vuc2U", "cursor"],
    [`cursor=${Buffer.from('["1","\\u0000"]').toString("base64url")}`, "cursor"],
    ["actor=%00", "actor"],
  ])("refuses ?%s", async (query, field) => {
    const response = await control.request("GET", `/api/v1/audit?${query}`);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: field } },
    });
  });
});
