import { describe, expect, it } from "vitest";
import type { JwtIssuer } from "../../../shared/access/jwt-issuers.ts";
import { identityOf, isIssuedInTime, looksLikeToken } from "./identity.ts";

const issuer: JwtIssuer = {
  issuer: "https://id.example",
  jwks_url: "https://id.example/keys",
  audience: ["gateway"],
  algorithms: ["RS256"],
  subject_claim: "sub",
  device_claim: "device",
  identity_claims: ["email", "name"],
  tenant: "people",
  jit_provision: true,
};

describe("a token", () => {
  it.each([
    ["eyJhbGciOiJSUzI1NiJ9.eyJ9.sig", true],
    ["eyJ..", true],
    ["eyJ.x", false],
    ["eyJ.x.y.z.w", false],
    ["sk_x.y.z", false],
    [`eyJ${"a".repeat(8187)}..`, true],
    [`eyJ${"a".repeat(8188)}..`, false],
  ])("%.40s: %s", (text, expected) => {
    expect(looksLikeToken(text)).toBe(expected);
  });

  it("is issued in time up to a minute ahead", () => {
    const at = (iat: unknown): boolean => isIssuedInTime({ iat }, 1_000_000);
    expect([undefined, 0, 1000, 1060, 1061, "1000", Number.NaN].map(at)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("an identity", () => {
  it("has the first name that says something, and else its subject", () => {
    const name = (claims: object) => identityOf(issuer, { sub: "s-1", ...claims })?.name;
    expect(name({ email: "a@b", name: "A" })).toBe("a@b");
    expect(name({ email: " ", name: " A \n B\u0000 " })).toBe("A   B");
    expect(name({ email: "a\u202eb\u2028c\u200d", name: "A" })).toBe("a b c\u200d");
    expect(name({ email: "\u200b\u0301", name: "e\u0301" })).toBe("\u00e9");
    expect(name({ email: 5, name: null })).toBe("s-1");
    expect(name({ email: "x".repeat(300) })).toHaveLength(200);
    expect(name({ email: `${"x".repeat(199)}😀` })?.isWellFormed()).toBe(true);
  });

  it("has a device only when it can be recorded", () => {
    const device = (value: unknown) => identityOf(issuer, { sub: "s", device: value })?.deviceId;
    expect({
      valid: device("a-B_9"),
      withSpace: device("a b"),
      empty: device(""),
      tooLong: device("x".repeat(65)),
      number: device(7),
    }).toEqual({ valid: "a-B_9", withSpace: "", empty: "", tooLong: "", number: "" });
    expect(identityOf({ ...issuer, device_claim: null }, { sub: "s", device: "a" })?.deviceId).toBe("");
  });

  it("is null without a subject", () => {
    for (const sub of [undefined, "", 7, null, "x".repeat(1025)]) expect(identityOf(issuer, { sub })).toBeNull();
    expect(identityOf({ ...issuer, subject_claim: "oid" }, { sub: "s" })).toBeNull();
    expect(identityOf({ ...issuer, subject_claim: "oid" }, { oid: "o" })).toMatchObject({
      issuer: "https://id.example",
      subject: "o",
      tenant: "people",
      jitProvision: true,
    });
  });
});
