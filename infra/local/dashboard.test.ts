/** The settings of the stack's console that nobody has set (docs/rules/console.md#on-npm-start). */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { parseDashboardEnv } from "../../control/dashboard/env.ts";
import { prepareDashboard } from "./dashboard.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "gateway-dashboard-"));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

const prepared = (variables: Record<string, string> = {}) =>
  prepareDashboard({ variables, dataDir }, "http://127.0.0.1:8080");

it("is generated once, kept for its owner alone, and accepted by the console", () => {
  const first = prepared();
  expect(first.access).toMatchObject({ email: "admin@localhost.localdomain", passwordMade: true });
  expect(parseDashboardEnv(first.variables)).toMatchObject({
    adminEmail: first.access.email,
    password: first.access.password,
    proxyBaseUrl: "http://127.0.0.1:8080",
    listen: null,
  });
  expect(readFileSync(join(dataDir, "console-password"), "utf8")).toBe(`${first.access.password}\n`);
  expect(readdirSync(dataDir).map((name) => statSync(join(dataDir, name)).mode & 0o777)).toEqual([0o600, 0o600]);
  const again = prepared();
  expect(again).toEqual({ ...first, access: { ...first.access, passwordMade: false } });
});

it("is what its operator has chosen, and then is kept nowhere", () => {
  const chosen = {
    DASHBOARD_ADMIN_EMAIL: "Ops@Example.org",
    DASHBOARD_PASSWORD: "12345678",
    DASHBOARD_SESSION_SECRET: "s".repeat(32),
    GATEWAY_PROXY_BASE_URL: "https://gateway.example.org",
  };
  expect(prepared(chosen)).toEqual({
    variables: chosen,
    access: { email: "ops@example.org", password: "12345678", passwordMade: false },
  });
  expect(readdirSync(dataDir)).toEqual([]);
});
