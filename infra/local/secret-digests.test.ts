import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEnv } from "../../control/env.ts";
import { type SharedSecrets, secretDigests } from "./secret-digests.ts";

const SECRETS: SharedSecrets = {
  clusterKey: "0123456789abcdef0123456789abcdef",
  adminToken: "the-admin-token-of-the-cluster",
  internalToken: "the-token-between-the-planes",
  dashboard: true,
  variables: {
    GATEWAY_API_KEY_PEPPER: "the pepper",
    GATEWAY_ENCRYPTION_KEY: "the encryption key",
    DASHBOARD_PASSWORD: "the password",
    DASHBOARD_SESSION_SECRET: "the session secret",
  },
};

/** As the control service reads them. */
const read = (secrets: SharedSecrets): Readonly<Record<string, string>> =>
  parseEnv({ GATEWAY_ADMIN_TOKEN: "t", GATEWAY_SHARED_SECRETS: secretDigests(secrets) }).sharedSecrets ?? {};

const differing = (a: SharedSecrets, b: SharedSecrets): string[] => {
  const [one, other] = [read(a), read(b)];
  return Object.keys(one).filter((name) => one[name] !== other[name]);
};

describe("the digests of shared secrets", () => {
  it("are those of every secret that must be the same, and contain none", () => {
    const text = secretDigests(SECRETS);
    expect(Object.keys(read(SECRETS)).sort()).toEqual([
      "DASHBOARD_PASSWORD",
      "DASHBOARD_SESSION_SECRET",
      "GATEWAY_ADMIN_TOKEN",
      "GATEWAY_API_KEY_PEPPER",
      "GATEWAY_CLUSTER_KEY",
      "GATEWAY_ENCRYPTION_KEY",
      "GATEWAY_INTERNAL_TOKEN",
    ]);
    for (const secret of [SECRETS.clusterKey, SECRETS.adminToken, ...Object.values(SECRETS.variables)])
      expect(text).not.toContain(secret);
    expect(new Set(Object.values(read(SECRETS))).size).toBe(7);
  });

  it("leave out the console's where there is none", () => {
    expect(Object.keys(read({ ...SECRETS, dashboard: false })).filter((name) => name.startsWith("DASH"))).toEqual([]);
  });

  it("differ only for a secret that differs or is unset, and all differ with another cluster key", () => {
    expect(differing(SECRETS, { ...SECRETS, variables: { ...SECRETS.variables } })).toEqual([]);
    expect(differing(SECRETS, { ...SECRETS, adminToken: "another" })).toEqual(["GATEWAY_ADMIN_TOKEN"]);
    expect(differing(SECRETS, { ...SECRETS, internalToken: undefined })).toEqual(["GATEWAY_INTERNAL_TOKEN"]);
    for (const name of Object.keys(SECRETS.variables)) {
      const { [name]: _, ...without } = SECRETS.variables;
      expect(differing(SECRETS, { ...SECRETS, variables: without })).toEqual([name]);
      fc.assert(
        fc.property(fc.string({ minLength: 1 }), (text) => {
          const variables = { ...SECRETS.variables, [name]: text };
          expect(differing(SECRETS, { ...SECRETS, variables })).toEqual(text === SECRETS.variables[name] ? [] : [name]);
        }),
        { numRuns: 20 },
      );
    }
    expect(differing(SECRETS, { ...SECRETS, clusterKey: `${SECRETS.clusterKey}!` })).toHaveLength(7);
  });
});
