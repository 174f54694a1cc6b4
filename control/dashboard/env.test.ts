/** The console's variables (docs/rules/console.md#variables). */

import { describe, expect, it } from "vitest";
import { TrustedProxies } from "../kernel/trusted-proxies.ts";
import { parseDashboardEnv, parseStandaloneEnv } from "./env.ts";

const GOOD = {
  DASHBOARD_ADMIN_EMAIL: "Ops@Example.org",
  DASHBOARD_PASSWORD: "12345678",
  DASHBOARD_SESSION_SECRET: "s".repeat(32),
};
const provider = { id: "corp", name: "Corp", issuer: "https://id.example.org", client_id: "c", client_secret: "s" };
const withProviders = (...providers: readonly unknown[]) => ({ ...GOOD, OIDC_PROVIDERS: JSON.stringify(providers) });

describe("the console's variables", () => {
  it("are none of them needed without a console", () => {
    expect(parseDashboardEnv({ TRUSTED_ORIGINS: "*", DASHBOARD_PASSWORD: " " })).toBeNull();
  });

  it("have defaults", () => {
    expect(parseDashboardEnv(withProviders(provider))).toEqual({
      listen: null,
      publicOrigin: null,
      adminEmail: "ops@example.org",
      password: "12345678",
      sessionSecret: GOOD.DASHBOARD_SESSION_SECRET,
      trustedOrigins: [],
      trustedProxies: new TrustedProxies([]),
      frontUsers: null,
      proxyBaseUrl: "http://localhost:8080",
      proxyOwnUrl: "http://localhost:8080",
      grafanaUrl: null,
      providers: [
        {
          id: "corp",
          name: "Corp",
          issuer: "https://id.example.org",
          clientId: "c",
          clientSecret: "s",
          scopes: "openid email profile",
          allowUnverifiedEmail: false,
          groupsClaim: null,
        },
      ],
    });
  });

  it.each([
    [{ ...provider, clientId: "c" }, "; provider 'corp' has the unknown member 'clientId'"],
    [{ ...provider, issuer: "http://id.example.org" }, "; wrong: provider 'corp', issuer"],
    [{ ...provider, id: "No" }, "; wrong: provider 2, id"],
  ])("name the provider and the member that is wrong: %j", (wrong, said) => {
    expect(() => parseDashboardEnv(withProviders({ ...provider, id: "first" }, wrong))).toThrow(said);
  });

  it("have an admin's email of their own when none is set", () => {
    const { DASHBOARD_ADMIN_EMAIL: _, ...rest } = GOOD;
    expect(parseDashboardEnv(rest)?.adminEmail).toBe("admin@localhost.localdomain");
  });

  it("are read", () => {
    const more = {
      GATEWAY_PROXY_BASE_URL: "https://gateway.example.org/",
      GATEWAY_DASHBOARD_LISTEN: "0.0.0.0:3001",
      DASHBOARD_PUBLIC_URL: "https://console.example.org/",
      TRUSTED_ORIGINS: "https://a.example, http://b.example:81/",
      GATEWAY_GRAFANA_URL: "https://metrics.example.org/grafana/",
    };
    expect(parseDashboardEnv({ ...GOOD, ...more })).toMatchObject({
      listen: { host: "0.0.0.0", port: 3001 },
      publicOrigin: "https://console.example.org",
      proxyBaseUrl: "https://gateway.example.org",
      trustedOrigins: ["https://a.example", "http://b.example:81"],
      grafanaUrl: "https://metrics.example.org/grafana",
    });
  });

  it.each<[string, Record<string, string>]>([
    ["DASHBOARD_ADMIN_EMAIL", { ...GOOD, DASHBOARD_ADMIN_EMAIL: "ops" }],
    ["DASHBOARD_PASSWORD", { DASHBOARD_SESSION_SECRET: "s".repeat(32) }],
    ["DASHBOARD_PASSWORD", { ...GOOD, DASHBOARD_PASSWORD: "1234567" }],
    ["DASHBOARD_SESSION_SECRET", { ...GOOD, DASHBOARD_SESSION_SECRET: "s".repeat(31) }],
    ["GATEWAY_PROXY_BASE_URL", { ...GOOD, GATEWAY_PROXY_BASE_URL: "gateway" }],
    ["GATEWAY_PROXY_BASE_URL", { ...GOOD, GATEWAY_PROXY_BASE_URL: "http://ops:s3cret@host/v1?x=1" }],
    ["GATEWAY_PROXY_OWN_URL", { ...GOOD, GATEWAY_PROXY_OWN_URL: "http://ops:s3cret@host" }],
    ["GATEWAY_GRAFANA_URL", { ...GOOD, GATEWAY_GRAFANA_URL: "https://metrics.example.org/?orgId=2" }],
    ["GATEWAY_DASHBOARD_LISTEN", { ...GOOD, GATEWAY_DASHBOARD_LISTEN: "3000" }],
    ["GATEWAY_GRAFANA_URL", { ...GOOD, GATEWAY_GRAFANA_URL: "javascript:alert(1)" }],
    ["DASHBOARD_PUBLIC_URL", { ...GOOD, DASHBOARD_PUBLIC_URL: "console.example.org" }],
    ["DASHBOARD_PUBLIC_URL", { ...GOOD, DASHBOARD_PUBLIC_URL: "https://console.example.org/console" }],
    ["DASHBOARD_PUBLIC_URL", { ...GOOD, DASHBOARD_PUBLIC_URL: "https://ops:s3cret@console.example.org" }],
    ["DASHBOARD_PUBLIC_URL", { ...GOOD, DASHBOARD_PUBLIC_URL: "http://0.0.0.0:3000" }],
    ["DASHBOARD_PUBLIC_URL", { ...GOOD, DASHBOARD_PUBLIC_URL: "http://[::]:3000" }],
    ["DASHBOARD_PUBLIC_URL", { ...GOOD, GATEWAY_DASHBOARD_LISTEN: "0.0.0.0:3001" }],
    ["DASHBOARD_PUBLIC_URL", { ...GOOD, GATEWAY_DASHBOARD_LISTEN: "[::]:3001" }],
    ["TRUSTED_ORIGINS", { ...GOOD, TRUSTED_ORIGINS: "https://a.example/path" }],
    ["TRUSTED_ORIGINS", { ...GOOD, TRUSTED_ORIGINS: "https://*.a.example" }],
    ["OIDC_PROVIDERS", { ...GOOD, OIDC_PROVIDERS: "{" }],
    ["OIDC_PROVIDERS", withProviders({ ...provider, id: "local" })],
    ["OIDC_PROVIDERS", withProviders({ ...provider, id: "Corp/x" })],
    ["OIDC_PROVIDERS", withProviders({ ...provider, issuer: "http://id.example.org" })],
    ["OIDC_PROVIDERS", withProviders({ ...provider, scopes: "email" })],
    ["OIDC_PROVIDERS", withProviders({ ...provider, client_secret: "" })],
    ["OIDC_PROVIDERS", withProviders(provider, provider)],
  ])("are refused by name, without their value: %s", (name, variables) => {
    expect(() => parseDashboardEnv(variables)).toThrow(new RegExp(`^${name} `));
    try {
      parseDashboardEnv(variables);
    } catch (error) {
      expect(String(error)).not.toMatch(/1234567|sssss/);
    }
  });
});

describe("the variables of a console that runs alone", () => {
  const ALONE = { ...GOOD, GATEWAY_ADMIN_TOKEN: "token", DATABASE_URL: "postgres://u:p@h/gateway" };

  it("are the console's, and where the gateway is", () => {
    expect(parseStandaloneEnv(ALONE)).toMatchObject({
      dashboard: { adminEmail: "ops@example.org", proxyBaseUrl: "http://localhost:8080", listen: null },
      adminBaseUrl: "http://localhost:9180",
      adminToken: "token",
      databaseUrl: "postgres://u:p@h/gateway",
    });
    const { adminBaseUrl } = parseStandaloneEnv({ ...ALONE, GATEWAY_ADMIN_BASE_URL: "https://g.example/admin/" });
    expect(adminBaseUrl).toBe("https://g.example/admin");
  });

  it("are all named when none of the required ones is set", () => {
    expect(() => parseStandaloneEnv({})).toThrow(
      /^DASHBOARD_PASSWORD is required.*; DASHBOARD_SESSION_SECRET is required.*; GATEWAY_ADMIN_TOKEN is required.*; DATABASE_URL is required/,
    );
  });

  it.each<[string, Record<string, string>]>([
    ["DASHBOARD_PASSWORD", { ...ALONE, DASHBOARD_PASSWORD: "1234567" }],
    ["DASHBOARD_SESSION_SECRET", { ...ALONE, DASHBOARD_SESSION_SECRET: "s".repeat(31) }],
    ["GATEWAY_ADMIN_TOKEN", { ...ALONE, GATEWAY_ADMIN_TOKEN: "" }],
    ["GATEWAY_ADMIN_BASE_URL", { ...ALONE, GATEWAY_ADMIN_BASE_URL: "localhost:9180" }],
    ["DATABASE_URL", { ...ALONE, DATABASE_URL: "pglite:folder" }],
    ["DATABASE_URL", { ...ALONE, DATABASE_URL: "nonsense" }],
    ["DASHBOARD_PUBLIC_URL", { ...ALONE, GATEWAY_DASHBOARD_LISTEN: "console.internal:3001" }],
  ])("are refused by name: %s", (name, variables) => {
    expect(() => parseStandaloneEnv(variables)).toThrow(new RegExp(`^${name} `));
  });
});
