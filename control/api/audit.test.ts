import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { auditLog } from "../db/schema/journal.ts";

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
    expect([second, first]).toEqual([
      {
        id: expect.any(Number),
        ts: expect.stringMatching(/^\d{4}-.*Z$/),
        actor: "admin",
        address: "",
        action: "update_tenant",
        entity_type: "tenant",
        entity_id: tenant.id,
        detail: { changed: { description: ["", "d"] } },
      },
      expect.objectContaining({
        actor: "ada@example.org",
        address: "2001:db8::7",
        action: "create_tenant",
        detail: { name: "newest" },
      }),
    ]);
    expect(second?.id).toBeGreaterThan(first?.id ?? Number.POSITIVE_INFINITY);
  });

  it("refuses an address that is none", async () => {
    const refused = await control.request("GET", "/api/v1/audit", undefined, { "x-gateway-audit-address": "a\tb" });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: "validation_failed", param: "x-gateway-audit-address" } },
    ]);
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
    expect([seen.length, seen]).toEqual([7, all]);
  });

  it.each([
    ["since_ms=yesterday", "since_ms"],
    ["until_ms=-1", "until_ms"],
    ["limit=0", "limit"],
    ["cursor=bm9uc2Vuc2U", "cursor"],
    [`cursor=${Buffer.from('["1","\\u0000"]').toString("base64url")}`, "cursor"],
    ["actor=%00", "actor"],
  ])("refuses ?%s", async (query, field) => {
    const response = await control.request("GET", `/api/v1/audit?${query}`);
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param: field } }]);
  });
});
