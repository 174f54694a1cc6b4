/**
 * Odd values in every part of a request but its body: headers, ids, cursors, limits, names in its path.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { readDocument } from "../../test/harness/api-document.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { anyJsonText, anyJsonValue } from "../../test/harness/hostile-json.ts";

let control: TestControl;
let tenant: Tenant;
let model: Model;

beforeAll(async () => {
  control = await startControl();
  tenant = await send<Tenant>("POST", "/tenants", { name: "odd" });
  model = await send<Model>("POST", "/models", { model_name: "odd" });
  for (const name of ["a", "b", "c"]) {
    await send("POST", "/tenants", { name });
    await send("POST", `/models`, { model_name: name });
    await send("POST", `/tenants/${tenant.id}/keys`, { name });
    await send("POST", "/fairshare/groups", { name });
    await send("POST", "/mcp-servers", { name, upstream_url: "http://127.0.0.1:9/mcp" });
    await send("POST", `/models/${model.id}/endpoints`, { name, api_base: "http://127.0.0.1:9/v1" });
  }
});
afterAll(async () => {
  await control.close();
});

async function send<T>(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body, headers);
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return (await response.json()) as T;
}

/** A text as the bytes of its UTF-8 in a header. */
const inHeader = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

describe("the actor's header", () => {
  const actorOf = async (header: string): Promise<unknown> => {
    await send("PATCH", `/tenants/${tenant.id}/weight`, { weight: 7 }, { "x-gateway-audit-actor": header });
    return (await send<AuditEntry[]>("GET", "/audit?limit=1"))[0]?.actor;
  };

  it.each([
    ["in UTF-8", inHeader("Jürgen Éva 研究"), "Jürgen Éva 研究"],
    ["in Latin-1", "J\u00fcrgen", "Jürgen"],
    ["blank", "  ", "admin"],
    ["with blanks around it", "  ci  ", "ci"],
    ["of 256 characters outside of the first plane", inHeader("😀".repeat(256)), "😀".repeat(256)],
  ])("%s is recorded", async (_, header, actor) => {
    expect(await actorOf(header)).toBe(actor);
  });

  it.each([
    ["a tab", "a\tb"],
    ["a control character of Latin-1", "a\u0085b"],
    ["a control character in UTF-8", inHeader("a\u009bb")],
    ["a line separator", inHeader("a\u2028b")],
    ["an override of the direction", inHeader("a\u202eb")],
    ["more than 256 characters", inHeader("é".repeat(257))],
  ])("with %s is refused, and nothing is done", async (_, header) => {
    const before = await control.request("GET", "/api/v1/audit?limit=1");
    const response = await control.request(
      "POST",
      "/api/v1/tenants",
      { name: "never" },
      { "x-gateway-audit-actor": header },
    );
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: "x-gateway-audit-actor" } },
    });
    expect(await (await control.request("GET", "/api/v1/audit?limit=1")).text()).toBe(await before.text());
  });
});

describe("an idempotency key", () => {
  const make = async (key: string, name: string) =>
    await control.request("POST", `/api/v1/tenants/${tenant.id}/keys`, { name }, { "idempotency-key": key });

  it("may be any text that a header can hold, and means one key", async () => {
    const odd = fc.string({
      unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 255,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(odd, fc.constantFrom("'; DROP TABLE tenants; --", "__proto__", "\u0085", "%00", "a,b")),
        async (key) => {
          const [first, second] = [await make(key, "one"), await make(key, "one")];
          expect({ firstStatus: first.status, secondStatus: second.status }).toEqual({
            firstStatus: 200,
            secondStatus: 200,
          });
          expect(((await second.json()) as CreatedKey).key.id).toBe(((await first.json()) as CreatedKey).key.id);
          const other = await make(key, "another");
          expect({ status: other.status, body: await other.json() }).toMatchObject({
            status: 409,
            body: { error: { code: "idempotency_key_reuse" } },
          });
        },
      ),
      { numRuns: 25 },
    );
  });

  it("is refused when it is too long, or blank", async () => {
    for (const key of ["x".repeat(256), ""])
      expect({ keyLength: key.length, status: (await make(key, "n")).status }).toEqual({
        keyLength: key.length,
        status: 400,
      });
  });
});

const LISTS = [
  "/tenants",
  "/tenants/{tenant}/keys",
  "/keys",
  "/models",
  "/models/{model}/endpoints",
  "/mcp-servers",
  "/fairshare/groups",
  "/audit",
];
const filled = (path: string): string => path.replace("{tenant}", tenant.id).replace("{model}", model.id);
const cursorOf = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? "").toString("base64url");

describe.each(LISTS)("%s", (list) => {
  it("takes no forged cursor for one of its own, and never falls over one", { timeout: 120_000 }, async () => {
    const part = fc.oneof(
      anyJsonText,
      fc.bigInt({ min: 0n, max: 10n ** 20n }).map(String),
      fc.uuid(),
      fc.constantFrom(
        "99999999999999999",
        "9".repeat(18),
        "0",
        "-1",
        "00000000-0000-0000-0000-000000000000",
        tenant.id.toUpperCase(),
      ),
    );
    const forged = fc.oneof(fc.array(part, { maxLength: 3 }).map(cursorOf), anyJsonValue.map(cursorOf), anyJsonText);
    await fc.assert(
      fc.asyncProperty(forged, async (cursor) => {
        const query = new URLSearchParams({ cursor }).toString();
        const response = await control.request("GET", `/api/v1${filled(list)}?${query}`);
        const answer: unknown = await response.json();
        expect([200, 400]).toContain(response.status);
        if (response.status === 400) expect(answer).toMatchObject({ error: { param: "cursor" } });
        else expect(answer).toBeInstanceOf(Array);
      }),
      { numRuns: 60 },
    );
  });

  it("takes a limit of at least 1 in digits", async () => {
    for (const [limit, status] of [
      ["1", 200],
      ["9".repeat(400), 200],
      ["0", 400],
      ["-1", 400],
      ["1e2", 400],
      ["0x10", 400],
      ["1.0", 400],
      ["٣", 400],
      ["Infinity", 400],
      ["", 400],
    ] as const) {
      const query = new URLSearchParams({ limit }).toString();
      expect({ limit, status: (await control.request("GET", `/api/v1${filled(list)}?${query}`)).status }).toEqual({
        limit,
        status,
      });
    }
  });
});

describe("an id", () => {
  it("is the same in upper case, in a path and in a query", async () => {
    const upper = tenant.id.toUpperCase();
    expect(await send("GET", `/tenants/${upper}`)).toMatchObject({ id: tenant.id });
    expect(await send("PATCH", `/tenants/${upper}/weight`, { weight: 9 })).toMatchObject({ id: tenant.id, weight: 9 });
    expect(await send<Model[]>("GET", `/models/${model.id.toUpperCase()}/endpoints`)).toHaveLength(3);
    expect((await send<unknown[]>("GET", `/keys?tenant_id=${upper}`)).length).toBeGreaterThanOrEqual(3);
    const created = await send<CreatedKey>("POST", `/tenants/${upper}/keys`, {});
    expect(created.key.tenant_id).toBe(tenant.id);
  });

  it("of any version is one, as a restored record may have it", async () => {
    const id = "11111111-1111-1111-1111-111111111111";
    expect((await control.request("GET", `/api/v1/tenants/${id}`)).status).toBe(404);
    expect(await send("GET", `/keys?tenant_id=${id}`)).toEqual([]);
  });

  it("is not one when it only resembles one", async () => {
    for (const id of [`{${tenant.id}}`, tenant.id.replaceAll("-", ""), `${tenant.id}0`, `urn:uuid:${tenant.id}`]) {
      expect({
        id,
        status: (await control.request("GET", `/api/v1/tenants/${encodeURIComponent(id)}`)).status,
      }).toEqual({ id, status: 404 });
      const query = new URLSearchParams({ tenant_id: id }).toString();
      const response = await control.request("GET", `/api/v1/keys?${query}`);
      expect({ id, status: response.status, body: await response.json() }).toMatchObject({
        id,
        status: 400,
        body: { error: { param: "tenant_id" } },
      });
    }
  });
});

describe("names", () => {
  it.each([
    ["/tenants", "name", {}],
    ["/models", "model_name", {}],
    ["/fairshare/groups", "name", {}],
    ["/models/{model}/endpoints", "name", { api_base: "http://127.0.0.1:9/v1" }],
    ["/tenants/{tenant}/keys", "name", {}],
  ])("of %s that look alike are one name, or no name", async (path, field, more) => {
    for (const name of ["two\nlines", "\u202eevil", "in\u200bvisible", "cafe\u0301", "\u200d"]) {
      const response = await control.request("POST", `/api/v1${filled(path)}`, { [field]: name, ...more });
      expect({ name, status: response.status, body: await response.json() }).toMatchObject({
        name,
        status: 400,
        body: { error: { param: field } },
      });
    }
  });

  it("of groups that are no such name are not found in a path", async () => {
    for (const name of ["%00", "%ff", "%0a", "nobody", "%F0%9F%98%80"]) {
      const response = await control.request("PATCH", `/api/v1/fairshare/groups/${name}/weight`, { weight: 1 });
      expect({ name, status: response.status }).toEqual({ name, status: 404 });
    }
  });

  it("of a thousand allowed models are kept, each once", async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `model-${at}-${"x".repeat(150)}`);
    const record = await send<Tenant>("PATCH", `/tenants/${tenant.id}/allowlist`, {
      allowed_models: [...names, ...names, " ", `  ${names[0]} `],
    });
    expect(record.allowed_models).toEqual(names);
    expect((await send<Tenant>("GET", `/tenants/${tenant.id}`)).allowed_models).toEqual(names);
  });
});

describe("a parameter of the query that is given twice", () => {
  it("is refused by its name, on every route that has it, before anything is done", async () => {
    const document = readDocument(await (await control.app.request("/api/v1/openapi.json")).text());
    const cases = document.operations.flatMap(({ method, path, parameters }) =>
      parameters.filter((one) => one.in === "query").map(({ name }) => ({ method, path, name })),
    );
    expect(cases.length).toBeGreaterThan(100);
    for (const { method, path, name } of cases) {
      const target = path.replace(/\{\w+\}/g, tenant.id);
      const body = method === "get" ? undefined : {};
      const answer = await control.request(method.toUpperCase(), `${target}?${name}=1&${name}=1`, body);
      expect({ method, path, status: answer.status, body: await answer.json() }).toMatchObject({
        method,
        path,
        status: 400,
        body: {
          error: {
            code: "validation_failed",
            param: name,
            details: [{ path: name, message: "must be given only once" }],
          },
        },
      });
    }
  });

  it("is left out like any other when no route knows it", async () => {
    expect(await send("GET", "/tenants?limit=1&x=1&x=2")).toHaveLength(1);
  });

  it("restores nothing, in whichever order", async () => {
    const file = await send<object>("GET", "/backup/export");
    await send("POST", "/tenants", { name: "made later" });
    for (const query of ["dry_run=false&dry_run=true", "dry_run=true&dry_run=false", "dry_run&dry_run=true"]) {
      const answer = await control.request("POST", `/api/v1/backup/restore?${query}`, file);
      expect({ query, status: answer.status }).toEqual({ query, status: 400 });
    }
    expect(await send("GET", "/audit?action=restore_backup")).toEqual([]);
  });
});
