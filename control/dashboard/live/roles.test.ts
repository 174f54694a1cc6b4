/**
 * What each role reaches in the console, route by route (docs/rules/users.md#roles).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UserRole } from "../../../shared/fields/roles.ts";
import type { ApiKey, CreatedKey } from "../../../shared/schema/api-key.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import type { User } from "../../../shared/schema/user.ts";
import { startConsole, type TestConsole } from "../../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../../test/harness/console-browser.ts";
import { type LiveRoute, liveRoutesOf } from "../../api/access.ts";

let testing: TestConsole;
let ann: ConsoleBrowser;
let annUser: User;
let tenant: Tenant;
let key: ApiKey;

beforeAll(async () => {
  testing = await startConsole();
  tenant = await must("POST", "/tenants", { name: "own" });
  ({ key } = await must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "own key" }));
  ann = testing.browser();
  await testing.signIn(ann);
  [annUser] = await must<[User]>("GET", "/users?q=ANN");
});
afterAll(async () => {
  await testing.close();
});

async function must<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await testing.control.request(method, `/api/v1${path}`, body);
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as T;
}
const become = async (role: UserRole, tenant_id: string | null = tenant.id) =>
  await must("PATCH", `/users/${annUser.id}`, { status: "active", role, tenant_id });
const codeOf = async (answer: Response): Promise<string | null> => {
  const body: unknown = await answer.json().catch(() => null);
  return (body as { error?: { code?: string } } | null)?.error?.code ?? null;
};
const everything = async () => (await must<{ readonly data: object }>("GET", "/backup/export")).data;
/** What the console itself refuses before the Management API is asked; null: nothing. */
const REFUSALS = ["read_only", "forbidden", "no_tenant"];
const refusalOf = async (route: LiveRoute, id: string): Promise<string | null> => {
  const path = `/api/live${route.path.replace(/\{\w+\}/g, id)}`;
  const code = await codeOf(await ann.send(route.method, path, route.method === "GET" ? undefined : {}));
  return REFUSALS.find((one) => one === code) ?? null;
};
/** The role's refusal of every route, about another person where the route is about one. */
const refusals = async (): Promise<Readonly<Record<string, string | null>>> => {
  const found: Record<string, string | null> = {};
  for (const route of liveRoutesOf(testing.control.app))
    found[`${route.method} ${route.path}`] = await refusalOf(route, route.user === "key in path" ? key.id : tenant.id);
  return found;
};
const expected = (refusal: (route: LiveRoute) => string | null) =>
  Object.fromEntries(
    liveRoutesOf(testing.control.app).map((route) => [`${route.method} ${route.path}`, refusal(route)]),
  );

describe("who can only read", () => {
  it.each<[UserRole, (route: LiveRoute) => string | null]>([
    [
      "auditor",
      ({ method, hasSecrets = false }) => (method === "GET" ? (hasSecrets ? "forbidden" : null) : "read_only"),
    ],
    ["viewer", ({ method, user }) => (method === "GET" ? (user === undefined ? "forbidden" : null) : "read_only")],
  ])("has no route that writes, and reads what the role reads: %s", async (role, refusal) => {
    await become(role);
    const before = await everything();
    expect(await refusals()).toEqual(expected(refusal));
    expect(await everything()).toEqual(before);
  });

  it("gets no file that has secrets, not even sealed ones", async () => {
    await become("auditor");
    expect((await ann.get("/api/live/tenants")).status).toBe(200);
    expect(await codeOf(await ann.get("/api/live/backup/export"))).toBe("forbidden");
    const secret = liveRoutesOf(testing.control.app).filter(({ hasSecrets }) => hasSecrets);
    expect(secret.map(({ path }) => path)).toEqual(["/usage/logs/{request_id}/capture", "/backup/export"]);
  });

  it.each<UserRole>(["auditor", "viewer"])(
    "spends nothing in the playground or with the assistant: %s",
    async (role) => {
      await become(role);
      const calls = [
        ["POST", "/api/relay/v1/chat/completions", "read_only"],
        ["POST", "/api/relay/v1/messages", "read_only"],
        ["GET", "/api/relay/v1/models", "read_only"],
        ["GET", "/api/relay/v1/files", "read_only"],
        ["GET", "/api/relay/v1/files/file-0123456789abcdef0123456789abcdef/content", "read_only"],
        ["GET", "/api/assistant", "forbidden"],
        ["POST", "/api/assistant/ask", "forbidden"],
        ["POST", "/api/assistant/run", "forbidden"],
        ["POST", "/api/assistant/outcome", "forbidden"],
      ] as const;
      for (const [method, path, code] of calls) {
        const pasted = path.startsWith("/api/relay") ? { authorization: "Bearer sk_pasted" } : {};
        const answer = await ann.send(method, path, method === "GET" ? undefined : {}, pasted);
        expect({ path, status: answer.status, code: await codeOf(answer) }).toEqual({ path, status: 403, code });
      }
    },
  );
});

it("holds a role that was taken away from the next request of a running session on", async () => {
  await become("admin");
  const rename = async (name: string) =>
    await codeOf(await ann.send("PATCH", `/api/live/tenants/${tenant.id}`, { name }));
  expect(await rename("renamed")).toBeNull();
  await become("auditor");
  expect({ write: await rename("again"), read: (await ann.get("/api/live/tenants")).status }).toEqual({
    write: "read_only",
    read: 200,
  });
  await become("user");
  expect(await codeOf(await ann.get("/api/live/tenants"))).toBe("forbidden");
  await become("viewer", null);
  expect(await codeOf(await ann.get("/api/live/keys"))).toBe("no_tenant");
});
