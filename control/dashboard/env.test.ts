/** The console's variables (docs/rules/console.md#variables). */
import { describe, expect, it } from "vitest";
import { parseDashboardEnv } from "./env.ts";

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
      providers: [
        {
          id: "corp",
          name: "Corp",
          issuer: "https://id.example.org",
          clientId: "c",
          clientSecret: "s",
          scopes: "openid email profile",
        },
      ],
    });
  });

  it("are read", () => {
    const more = {
      GATEWAY_DASHBOARD_LISTEN: "0.0.0.0:3001",
      DASHBOARD_PUBLIC_URL: "https://console.example.org/",
      TRUSTED_ORIGINS: "https://a.example, http://b.example:81/",
    };
    expect(parseDashboardEnv({ ...GOOD, ...more })).toMatchObject({
      listen: { host: "0.0.0.0", port: 3001 },
      publicOrigin: "https://console.example.org",
      trustedOrigins: ["https://a.example", "http://b.example:81"],
    });
  });

  it.each<[string, Record<string, string>]>([
    ["DASHBOARD_ADMIN_EMAIL", { ...GOOD, DASHBOARD_ADMIN_EMAIL: "ops" }],
    ["DASHBOARD_ADMIN_EMAIL", { DASHBOARD_PASSWORD: "12345678", DASHBOARD_SESSION_SECRET: "s".repeat(32) }],
    ["DASHBOARD_PASSWORD", { ...GOOD, DASHBOARD_PASSWORD: "1234567" }],
    ["DASHBOARD_SESSION_SECRET", { ...GOOD, DASHBOARD_SESSION_SECRET: "s".repeat(31) }],
    ["GATEWAY_DASHBOARD_LISTEN", { ...GOOD, GATEWAY_DASHBOARD_LISTEN: "3000" }],
    ["DASHBOARD_PUBLIC_URL", { ...GOOD, DASHBOARD_PUBLIC_URL: "console.example.org" }],
    ["TRUSTED_ORIGINS", { ...GOOD, TRUSTED_ORIGINS: "https://a.example/path" }],
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
