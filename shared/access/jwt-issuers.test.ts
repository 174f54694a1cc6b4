import { describe, expect, it } from "vitest";
import { envJwtIssuers } from "./jwt-issuers.ts";

const entry = { issuer: "https://id.example/", audience: "gateway", tenant: "acme" };

function complaint(value: unknown): string {
  const parsed = envJwtIssuers.safeParse(typeof value === "string" ? value : JSON.stringify(value));
  return parsed.success ? "" : (parsed.error.issues[0]?.message ?? "");
}

describe("GATEWAY_JWT_ISSUERS", () => {
  it("is an empty list when unset", () => {
    expect(envJwtIssuers.parse(undefined)).toEqual([]);
    expect(envJwtIssuers.parse("")).toEqual([]);
  });

  it("has the documented defaults", () => {
    expect(envJwtIssuers.parse(JSON.stringify([entry]))).toEqual([
      {
        issuer: "https://id.example/",
        jwks_url: "https://id.example/.well-known/jwks.json",
        audience: ["gateway"],
        algorithms: ["RS256", "ES256"],
        subject_claim: "sub",
        device_claim: null,
        identity_claims: [],
        tenant: "acme",
        jit_provision: true,
      },
    ]);
  });

  it.each([
    ["{", "must be a JSON array"],
    [{}, "must be a JSON array"],
    [[], "must be a JSON array"],
    [[{ ...entry, issuer: undefined }], "0.issuer"],
    [[entry, { ...entry, audience: undefined }], "1.audience"],
    [[{ ...entry, audience: [] }], "0.audience"],
    [[{ ...entry, tenant: " " }], "0.tenant"],
    [[{ ...entry, algorithms: ["HS256"] }], "0.algorithms"],
    [[{ ...entry, algorithms: ["none"] }], "0.algorithms"],
    [[{ ...entry, algorithms: [] }], "0.algorithms"],
    [[{ ...entry, jwks_url: "file:///keys" }], "0.jwks_url"],
    [[{ ...entry, issuer: "id-of-ours" }], "0.jwks_url"],
    [[{ ...entry, jit_provision: "yes" }], "0.jit_provision"],
    [[{ ...entry, audiences: "x" }], "(0 "],
  ])("refuses %j by saying where", (value, where) => {
    expect(complaint(value)).toContain(where);
  });

  it.each([
    ["another tenant", { tenant: "other" }, "(1.tenant must be that of entry 0, which has the same issuer"],
    [
      "another claim",
      { subject_claim: "client_id" },
      "(1.subject_claim must be that of entry 0, which has the same issuer",
    ],
  ])("refuses one issuer with %s, whose subjects would share keys", (_, change, where) => {
    expect(complaint([entry, { ...entry, audience: "batch", ...change }])).toContain(where);
  });

  it("takes one issuer twice with one tenant and claim, and one tenant of several issuers", () => {
    expect(complaint([entry, { ...entry, audience: "batch", jit_provision: false }])).toBe("");
    expect(complaint([entry, { ...entry, issuer: "https://other.example", subject_claim: "oid" }])).toBe("");
  });
});
