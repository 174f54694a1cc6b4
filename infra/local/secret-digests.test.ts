import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEnv } from "../../control/env.ts";
import { type SharedSecrets, secretDigests } from "./secret-digests.ts";

const SECRETS: SharedSecrets = {
  clusterKey: "0123456789abcdef0123456789abcdef",
  adminToken: "the-admin-token-of-the-cluster",
  internalToken: "the-token-between-the-planes",
  adminTokenOld: undefined,
  internalTokenOld: undefined,
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

  it("name those of old values that are accepted after the secret's own", () => {
    const variables = { ...SECRETS.variables, GATEWAY_API_KEY_PEPPERS_OLD: "one, another" };
    const before = { ...SECRETS, adminToken: "before", variables: { ...variables, GATEWAY_API_KEY_PEPPER: "another" } };
    const now = read({ ...SECRETS, adminTokenOld: "before", variables });
    const own = (secrets: SharedSecrets, name: string): string | undefined => read(secrets)[name]?.split("+")[0];
    expect(now["GATEWAY_ADMIN_TOKEN"]?.split("+")).toEqual([
      own(SECRETS, "GATEWAY_ADMIN_TOKEN"),
      own(before, "GATEWAY_ADMIN_TOKEN"),
    ]);
    const peppers = now["GATEWAY_API_KEY_PEPPER"]?.split("+");
    expect({ count: peppers?.length, first: peppers?.[0], last: peppers?.[2] }).toEqual({
      count: 3,
      first: own(SECRETS, "GATEWAY_API_KEY_PEPPER"),
      last: own(before, "GATEWAY_API_KEY_PEPPER"),
    });
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
