/** Writes through /api/live: what a `user` may not set, and the precondition of a guarded write. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ApiKey, CreatedKey } from "../../../shared/schema/api-key.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import type { User } from "../../../shared/schema/user.ts";
import { startConsole, type TestConsole } from "../../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../../test/harness/console-browser.ts";

let testing: TestConsole;
let admin: ConsoleBrowser;
let ann: ConsoleBrowser;
let keys: string;

beforeAll(async () => {
  testing = await startConsole();
  const { control } = testing;
  const tenant = (await (await control.request("POST", "/api/v1/tenants", { name: "own" })).json()) as Tenant;
  keys = `/tenants/${tenant.id}/keys`;
  admin = await testing.admin();
  ann = testing.browser();
  await testing.signIn(ann);
  const [user] = (await (await control.request("GET", "/api/v1/users?q=ANN")).json()) as [User];
  await control.request("PATCH", `/api/v1/users/${user.id}`, { status: "active", tenant_id: tenant.id });
});
afterAll(async () => {
  await testing.close();
});

it("lets only admins trace a key when they create it", async () => {
  for (const tracing_enabled of [true, 1, "on"]) {
    const refused = await ann.send("POST", `/api/live${keys}`, { name: "x", tracing_enabled });
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: "tracing_enabled" } },
    });
  }
  expect(await (await testing.control.request("GET", `/api/v1${keys}`)).json()).toEqual([]);
  expect((await ann.send("POST", `/api/live${keys}`, { name: "plain", tracing_enabled: false })).status).toBe(200);
  expect((await ann.send("POST", `/api/live${keys}`, "{")).status).toBe(400);
  const large = JSON.stringify({ name: "x".repeat(2 * 1024 * 1024) });
  expect((await ann.send("POST", `/api/live${keys}`, large)).status).toBe(413);
  const made = await admin.send("POST", `/api/live${keys}`, { name: "traced", tracing_enabled: true });
  expect(await made.json()).toMatchObject({ key: { name: "traced", tracing_enabled: true } });
});

it("passes If-Match and ETag on, for a user as for an admin", async () => {
  const { key } = (await (await testing.control.request("POST", `/api/v1${keys}`, {})).json()) as CreatedKey;
  const path = `/api/live/keys/${key.id}`;
  for (const browser of [admin, ann]) {
    const read = await browser.get(path);
    const { rev } = (await read.json()) as ApiKey;
    expect(read.headers.get("etag")).toBe(`"${rev}"`);
    const stale = await browser.send("PUT", path, { name: "a" }, { "if-match": `"${rev - 1}"` });
    expect({ status: stale.status, body: await stale.json() }).toMatchObject({
      status: 412,
      body: { error: { present: { rev } } },
    });
    expect((await browser.send("PUT", path, { name: "a" }, { "if-match": `"${rev}"` })).status).toBe(200);
  }
});
