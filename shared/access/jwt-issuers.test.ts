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
});
