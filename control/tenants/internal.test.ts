/**
 * Keys for identities (docs/rules/identities.md#keys-of-subjects), and which requests get them
 * (docs/rules/internal-traffic.md#internal-routes).
 *
 * @module-tag check
 */
import { asc, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolvedKeySchema, storeKeys } from "../../shared/records.ts";
import type { ApiKey } from "../../shared/schema/api-key.ts";
import { identityKeyHash } from "../../shared/schema/identity.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { INTERNAL_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { auditLog } from "../db/schema/journal.ts";

let control: TestControl;
const PATH = "/internal/identities";
const ISSUER = "https://id.example";

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

const provision = async (body: object): Promise<Response> =>
  await control.request("POST", PATH, body, { authorization: `Bearer ${INTERNAL_TOKEN}` });

const identity = (subject: string, tenant: string) => ({ issuer: ISSUER, subject, name: `name of ${subject}`, tenant });

async function keysOf(tenantName: string): Promise<readonly ApiKey[]> {
  const tenants = (await (await control.request("GET", "/api/v1/tenants?limit=1000")).json()) as Tenant[];
  const id = tenants.find((tenant) => tenant.name === tenantName)?.id ?? "";
  return (await (await control.request("GET", `/api/v1/tenants/${id}/keys`)).json()) as ApiKey[];
}

describe("an identity", () => {
  it("gets a key without a secret under a tenant that is created for it, once", async () => {
    const begun = await control.connection.db.$count(auditLog);
    const hash = identityKeyHash(ISSUER, "alice");
    expect(hash).toMatch(/^jwt:[0-9a-f]{64}$/);
    const first = await provision(identity("alice", "people"));
    expect({ status: first.status, body: await first.json() }).toEqual({
      status: 200,
      body: { key_hash: hash, tenant_created: true },
    });
    expect(await (await provision(identity("alice", "people"))).json()).toEqual({
      key_hash: hash,
      tenant_created: false,
    });
    expect(await (await provision(identity("bob", "people"))).json()).toMatchObject({ tenant_created: false });
    const keys = await keysOf("people");
    expect(keys.map((key) => [key.name, key.key_prefix, key.disabled])).toEqual([
      ["name of alice", hash.slice(0, 18), false],
      ["name of bob", expect.stringMatching(/^jwt:[0-9a-f]{14}$/), false],
    ]);
    const [text] = await control.store.get([storeKeys.key(hash)]);
    expect(resolvedKeySchema.parse(JSON.parse(text ?? "null"))).toMatchObject({
      key_hash: hash,
      key_id: keys[0]?.id,
      tenant: { name: "people", status: "active", weight: 100, tokens_per_minute: 0 },
    });
    const entries = await control.connection.db.select().from(auditLog).orderBy(asc(auditLog.id)).offset(begun);
    expect(entries.map((entry) => [entry.actor, entry.action, entry.entity_type])).toEqual([
      ["system", "create_tenant", "tenant"],
      ["system", "provision_identity", "api_key"],
      ["system", "provision_identity", "api_key"],
    ]);
  });

  it("gets one key when many requests come at once, and joins a tenant that exists", async () => {
    await control.request("POST", "/api/v1/tenants", { name: "crowd", weight: 7 });
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => await provision(identity("carol", "crowd"))),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(await keysOf("crowd")).toHaveLength(1);
  });

  it("joins a tenant whose name could not be given any more, and makes none of such a name", async () => {
    await control.request("POST", "/api/v1/tenants", { name: "plain" });
    const { db } = control.connection;
    await db.execute(sql`UPDATE tenants SET name = ${"e\u0301lan"} WHERE name = 'plain'`);
    expect((await provision(identity("erin", "e\u0301lan"))).status).toBe(200);
    expect((await provision(identity("erin", "e\u0301lan"))).status).toBe(200);
    expect((await provision(identity("frank", "e\u0301cole"))).status).toBe(400);
  });

  it("has a label without what no database holds and no terminal shows, whatever its claim says", async () => {
    const odd = { ...identity("mallory\u0000\ud800", "odd"), name: "\u0000mal\ud800lory\u001b[31m\n" };
    expect((await provision(odd)).status).toBe(200);
    expect((await keysOf("odd")).map((key) => key.name)).toEqual(["mal\ufffdlory [31m"]);
  });

  it("gets its copy back when the store lost it, and a new key when the old one was deleted", async () => {
    const hash = identityKeyHash(ISSUER, "dave");
    await provision(identity("dave", "lost"));
    const [copy] = await control.store.get([storeKeys.key(hash)]);
    await control.store.put([{ hotKey: storeKeys.key(hash), text: null }]);
    control.cell.items.length = 0;
    await provision(identity("dave", "lost"));
    // Nothing has changed: cells that got an item with a newer revision would call the copy stale for good.
    expect({ copies: await control.store.get([storeKeys.key(hash)]), items: control.cell.items }).toEqual({
      copies: [copy],
      items: [],
    });
    const [before] = await keysOf("lost");
    await control.request("DELETE", `/api/v1/keys/${before?.id}`);
    await provision(identity("dave", "lost"));
    const [after, ...more] = await keysOf("lost");
    expect({ key_prefix: after?.key_prefix, more }).toEqual({ key_prefix: before?.key_prefix, more: [] });
    expect(after?.id).not.toBe(before?.id);
  });
});

describe("the internal routes", () => {
  it("do not exist without their token, nor by another method", async () => {
    const tokens = ["", "Bearer wrong", INTERNAL_TOKEN, "Bearer admin-token-of-a-test"];
    for (const method of ["GET", "POST", "DELETE"]) {
      for (const authorization of [...tokens, ...(method === "POST" ? [] : [`Bearer ${INTERNAL_TOKEN}`])]) {
        const body = method === "GET" ? undefined : identity("eve", "nobody");
        const response = await control.request(method, PATH, body, { authorization });
        expect({ status: response.status, allow: response.headers.get("allow"), body: await response.json() }).toEqual({
          status: 404,
          allow: null,
          body: { error: { message: "not found", type: "not_found_error", code: "not_found", param: null } },
        });
      }
    }
  });

  it.each([{}, { issuer: ISSUER, subject: "", name: "", tenant: "t" }, { ...identity("x", " ") }])(
    "refuse %j and create nothing",
    async (body) => {
      const before = await (await control.request("GET", "/api/v1/tenants?limit=1000")).text();
      expect((await provision(body)).status).toBe(400);
      expect(await (await control.request("GET", "/api/v1/tenants?limit=1000")).text()).toBe(before);
    },
  );
});
