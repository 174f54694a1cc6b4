/** @module-tag check */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ResolvedKey, resolvedKeySchema } from "../../shared/records.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { tenants } from "../db/schema/tenancy.ts";

let control: TestControl;
let tenant: Tenant;
let path = "";
let count = 0;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  tenant = await send<Tenant>("POST", "/api/v1/tenants", { name: `tenant-${count}` });
  path = `/api/v1/tenants/${tenant.id}`;
});

async function send<T>(method: string, to: string, body?: unknown): Promise<T> {
  return (await (await control.request(method, to, body)).json()) as T;
}

/** The copy of the only key of the tenant. */
async function copy(): Promise<ResolvedKey> {
  const names: string[] = [];
  for await (const batch of control.store.scan("key:*")) names.push(...batch);
  const copies = (await control.store.get(names)).map((text) => resolvedKeySchema.parse(JSON.parse(text ?? "null")));
  const [mine] = copies.filter((each) => each.tenant?.id === tenant.id);
  if (mine === undefined) throw new Error("the tenant has no key");
  return mine;
}

async function lastAudit(): Promise<AuditEntry | undefined> {
  return (await send<AuditEntry[]>("GET", "/api/v1/audit?limit=1"))[0];
}

const GUARDRAILS = {
  action: "block",
  input_scanners: [],
  output_scanners: [],
  guard_model: null,
  ban_keywords: [],
  fail_open: true,
  scan_assistant: false,
};
const COMPRESSION = { enabled: false, code_compaction: false, dedup: false, allow_lossy: false };

describe("policies of a tenant", () => {
  it("are completed with defaults, reach the keys, and are cleared by null", async () => {
    await send("POST", `${path}/keys`, {});
    const policy = {
      action: "redact",
      input_scanners: ["pii", "harm", "ban_keywords", "pii"],
      guard_model: " guard ",
      ban_keywords: [" a ", "a"],
    };
    const stored = {
      ...GUARDRAILS,
      action: "redact",
      input_scanners: ["pii", "harm", "ban_keywords"],
      guard_model: "guard",
      ban_keywords: ["a"],
    };
    expect(await send("PATCH", `${path}/guardrails`, { policy })).toMatchObject({ guardrails_policy: stored });
    expect((await copy()).tenant?.guardrails_policy).toEqual(stored);
    expect(await lastAudit()).toMatchObject({
      action: "set_tenant_guardrails",
      entity_id: tenant.id,
      detail: { changed: { guardrails_policy: [null, stored] } },
    });
    const merged = { ...stored, fail_open: false, ban_keywords: [] };
    const change = { fail_open: false, ban_keywords: null };
    expect(await send("PATCH", `${path}/guardrails`, { policy: change })).toMatchObject({ guardrails_policy: merged });
    expect(await send("PATCH", `${path}/guardrails`, { policy: null })).toMatchObject({ guardrails_policy: null });
    const compression = { ...COMPRESSION, enabled: true, dedup: true };
    expect(await send("PATCH", `${path}/compression`, { policy: { enabled: true, dedup: true } })).toMatchObject({
      compression_policy: compression,
    });
    expect((await copy()).tenant).toMatchObject({ guardrails_policy: null, compression_policy: compression });
    expect(await send("PATCH", `${path}/compression`, { policy: null })).toMatchObject({ compression_policy: null });
  });

  it.each([
    ["guardrails", {}, "policy"],
    ["guardrails", { policy: "on" }, "policy"],
    ["guardrails", { policy: { action: "drop" } }, "policy.action"],
    ["guardrails", { policy: { input_scanners: ["magic"] } }, "policy.input_scanners.0"],
    ["guardrails", { policy: { output_scanners: ["prompt_injection"] } }, "policy.output_scanners.0"],
    ["guardrails", { policy: { output_scanners: ["harm"] } }, "policy.guard_model"],
    ["guardrails", { policy: { input_scanners: ["harm"], guard_model: " " } }, "policy.guard_model"],
    ["guardrails", { policy: { ban_keywords: [""] } }, "policy.ban_keywords.0"],
    ["guardrails", { policy: { ban_keywords: ["x".repeat(201)] } }, "policy.ban_keywords.0"],
    ["guardrails", { policy: { ban_keywords: Array.from({ length: 1001 }, String) } }, "policy.ban_keywords"],
    ["guardrails", { policy: { fail_open: 1 } }, "policy.fail_open"],
    ["guardrails", { policy: { input_scanners: ["pii"], ban_keywords: ["a"] } }, "policy.ban_keywords"],
    ["guardrails", { policy: { action: "block", fail_open: false } }, "policy.input_scanners"],
    ["guardrails", { policy: { action: "redact" } }, "policy.input_scanners"],
    ["guardrails", { policy: { action: "log_only", scan_assistant: true } }, "policy.input_scanners"],
    ["guardrails", { policy: { input_scanners: ["ban_keywords"], ban_keywords: ["\u200b"] } }, "policy.ban_keywords"],
    [
      "guardrails",
      { policy: { output_scanners: ["ban_keywords"], ban_keywords: ["a", "\u00ad\ufeff"] } },
      "policy.ban_keywords",
    ],
    ["guardrails", { policy: { input_scanners: ["ban_keywords"] } }, "policy.ban_keywords"],
    ["guardrails", { policy: { action: "log_only", output_scanners: ["ban_keywords"] } }, "policy.ban_keywords"],
    ["compression", {}, "policy"],
    ["compression", { policy: [] }, "policy"],
    ["compression", { policy: { enabled: "yes" } }, "policy.enabled"],
  ])("%s refuses %j by naming %s, and changes nothing", async (part, body, field) => {
    const response = await control.request("PATCH", `${path}/${part}`, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field } },
    });
    expect(await send("GET", path)).toEqual(tenant);
  });
});

it("takes back a useless policy of an earlier version unchanged, and no other one", async () => {
  const policy = { ...GUARDRAILS, action: "log_only", ban_keywords: ["\u200b"] };
  await control.connection.db.update(tenants).set({ guardrails_policy: policy }).where(eq(tenants.id, tenant.id));
  const read = await send<Tenant>("GET", path);
  expect(await send("PATCH", path, { ...read, weight: 7 })).toMatchObject({ weight: 7, guardrails_policy: policy });
  const changed = await control.request("PATCH", path, { guardrails_policy: { fail_open: false } });
  expect({ status: changed.status, body: await changed.json() }).toMatchObject({
    status: 400,
    body: {
      error: { details: [{ path: "guardrails_policy.ban_keywords" }, { path: "guardrails_policy.input_scanners" }] },
    },
  });
});

describe("flags", () => {
  it("of a tenant are set, copied to its keys and audited", async () => {
    await send("POST", `${path}/keys`, {});
    for (const [part, field, value, action] of [
      ["tracing", "tracing_enabled", true, "enable_tenant_tracing"],
      ["tracing", "tracing_enabled", false, "disable_tenant_tracing"],
      ["synthetic", "synthetic", true, "set_tenant_synthetic"],
    ] as const) {
      expect(await send("PUT", `${path}/${part}`, { [field]: value })).toMatchObject({ [field]: value });
      expect((await copy()).tenant).toMatchObject({ [field]: value });
      expect(await lastAudit()).toMatchObject({ action, detail: { changed: { [field]: [!value, value] } } });
      const refused = await control.request("PUT", `${path}/${part}`, { [field]: "true" });
      expect({ status: refused.status, body: await refused.json() }).toMatchObject({
        status: 400,
        body: { error: { param: field } },
      });
    }
  });

  it("of a key are set, copied and audited", async () => {
    const { key } = await send<CreatedKey>("POST", `${path}/keys`, {});
    expect(await send("PUT", `/api/v1/keys/${key.id}/tracing`, { tracing_enabled: true })).toMatchObject({
      id: key.id,
      tracing_enabled: true,
    });
    expect(await copy()).toMatchObject({ tracing_enabled: true });
    expect(await lastAudit()).toMatchObject({
      action: "enable_key_tracing",
      entity_type: "api_key",
      entity_id: key.id,
    });
    await send("PUT", `/api/v1/keys/${key.id}/tracing`, { tracing_enabled: false });
    expect(await lastAudit()).toMatchObject({ action: "disable_key_tracing" });
    const refused = await control.request("PUT", `/api/v1/keys/${key.id}/tracing`, {});
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "tracing_enabled" } },
    });
  });
});

describe("an update of a tenant", () => {
  it("keeps what it omits", async () => {
    const fields = { description: " d ", organization: "o", contact: "c", timezone: "Europe/Berlin" };
    const kept = { ...fields, description: "d" };
    expect(await send("PUT", path, fields)).toMatchObject({ ...kept, name: tenant.name });
    expect(await send("PUT", path, { name: `${tenant.name}-b`, status: "active" })).toMatchObject({
      ...kept,
      name: `${tenant.name}-b`,
      status: "active",
    });
  });

  it("refuses a taken name, a blank one, and what is no time zone", async () => {
    const other = await send<Tenant>("POST", "/api/v1/tenants", { name: `other-${count}` });
    const taken = await control.request("PUT", path, { name: other.name });
    expect({ status: taken.status, body: await taken.json() }).toMatchObject({
      status: 409,
      body: { error: { code: "already_exists", message: `tenant '${other.name}' already exists`, param: "name" } },
    });
    for (const [body, field] of [
      [{ name: " " }, "name"],
      [{ name: null }, "name"],
      [{ timezone: "Mars/Olympus" }, "timezone"],
      [{ contact: 5 }, "contact"],
    ] as const) {
      const response = await control.request("PUT", path, body);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { param: field } },
      });
    }
    expect(await send("GET", path)).toEqual(tenant);
  });
});
