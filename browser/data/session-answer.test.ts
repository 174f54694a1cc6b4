/** An answer that is not a session never yields a user. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { sessionOf, userOf } from "./session-answer.ts";

const ANN = {
  id: "u-1",
  email: "ann@example.org",
  name: "Ann",
  provider: "corp",
  role: "user",
  status: "active",
  tenant_id: "t-1",
  tenants: [
    { id: "t-1", name: "one" },
    { id: "t-2", name: "two" },
  ],
  session_id: "s-1",
};

it("reads what the server says", () => {
  const session = {
    user: ANN,
    providers: [{ id: "corp", name: "Corp" }],
    build: "ABC",
    proxy_base_url: "http://localhost:8080",
    grafana_url: "https://grafana.example.org/metrics",
    has_deployments: false,
  };
  expect(sessionOf({ ...session, group_providers: ["corp"] })).toEqual({
    ...session,
    user: { ...ANN, grantedRole: "user", isReadOnly: false },
    groupProviders: ["corp"],
  });
  expect(sessionOf({ ...session, grafana_url: "javascript:alert(1)" }).grafana_url).toBeNull();
  expect(sessionOf({ user: null, providers: [], build: null }).user).toBeNull();
});

it.each([
  ["admin", "admin", false],
  ["auditor", "admin", true],
  ["user", "user", false],
  ["viewer", "user", true],
])("role %s sees the pages of %s, read-only: %s", (granted, role, isReadOnly) => {
  expect(userOf({ ...ANN, role: granted })).toMatchObject({ role, grantedRole: granted, isReadOnly });
});

it.each([
  ["role", "root"],
  ["status", "ACTIVE"],
  ["id", 1],
  ["email", null],
])("accepts no user with %s %s", (field, value) => {
  expect(userOf({ ...ANN, [field]: value })).toBeNull();
  expect(() => sessionOf({ user: { ...ANN, [field]: value }, providers: [] })).toThrow("not a session");
});

it("rejects any other value", () => {
  fc.assert(
    fc.property(fc.anything(), (body) => {
      expect(userOf(body)).toBeNull();
    }),
  );
});
