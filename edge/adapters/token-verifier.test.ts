import { base64url, type JWK, SignJWT } from "jose";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { JwtIssuer } from "../../shared/access/jwt-issuers.ts";
import { type IssuerKey, newIssuerKey, signToken } from "../../test/harness/issuer-key.ts";
import { eventsOf, type MetricEvent } from "../domain/cell/event-counters.ts";
import type { TokenVerdict } from "../ports.ts";
import { IssuerKeys, KeysUnreadable } from "./issuer-keys.ts";
import { JoseVerifier } from "./token-verifier.ts";

const NOW_SECS = 1_800_000_000;
const ISS = "https://id.example";
const OTHER_ISS = "https://other.example";

/** What each provider publishes; null: it does not answer. */
let published: Map<string, readonly JWK[] | null>;
let reads: string[];
let counted: MetricEvent[];
let verifier: JoseVerifier;
let key: IssuerKey;
let unpublished: IssuerKey;

beforeAll(async () => {
  [key, unpublished] = await Promise.all([newIssuerKey("key-1", "RS256"), newIssuerKey("key-2", "RS256")]);
});

beforeEach(() => {
  published = new Map([
    [ISS, [key.publicJwk]],
    [OTHER_ISS, []],
  ]);
  reads = [];
  counted = [];
  const clock = (): number => NOW_SECS * 1000;
  const events = { count: (event: Parameters<typeof eventsOf>[0]) => void counted.push(...eventsOf(event)) };
  const providers = [ISS, OTHER_ISS].map((url, index) => {
    const issuer: JwtIssuer = {
      issuer: url,
      jwks_url: url,
      audience: ["another", "gateway"],
      algorithms: ["RS256", "ES256", "EdDSA"],
      subject_claim: "sub",
      device_claim: "device",
      identity_claims: ["email"],
      tenant: "people",
      jit_provision: true,
    };
    const load = async () => {
      reads.push(url);
      const keys = published.get(url) ?? null;
      if (keys === null) throw new KeysUnreadable("answered 500");
      return { keys: [...keys] };
    };
    const ignored = { keepAlive: () => undefined, alerts: { raise: () => undefined } };
    return { issuer, keys: new IssuerKeys({ index, issuer, load, clock, events, ...ignored }) };
  });
  verifier = new JoseVerifier(providers, clock, events);
});

const VALID = { iss: ISS, aud: "gateway", sub: "ada", iat: NOW_SECS, exp: NOW_SECS + 600 };

/** The verdict on a valid token with these changes; null removes a claim. */
async function verdictOn(claims: object = {}, signer = key, header: object = {}): Promise<TokenVerdict["kind"]> {
  return (await verifier.verify(await signToken(signer, { ...VALID, ...claims }, header))).kind;
}

const results = (): unknown[] =>
  counted.filter(({ metric }) => metric === "gateway_jwt_verify_total").map(({ labels }) => labels[0]);

describe("a token", () => {
  it("is its subject, with the name and the device that it states", async () => {
    const token = await signToken(key, { ...VALID, email: "ada@example.org", device: "laptop-1" });
    expect(await verifier.verify(token)).toEqual({
      kind: "identity",
      identity: {
        issuer: ISS,
        subject: "ada",
        name: "ada@example.org",
        tenant: "people",
        jitProvision: true,
        deviceId: "laptop-1",
      },
    });
    expect(results()).toEqual(["ok"]);
  });

  it.each<[string, object]>([
    ["for one of several audiences", { aud: ["x", "gateway"] }],
    ["that ended 30 s ago", { exp: NOW_SECS - 30 }],
    ["that begins in 30 s", { nbf: NOW_SECS + 30 }],
    ["issued in 30 s", { iat: NOW_SECS + 30 }],
    ["without a time of issue", { iat: null }],
  ])("%s is accepted", async (_what, claims) => {
    expect(await verdictOn(claims)).toBe("identity");
  });

  it.each<[string, object]>([
    ["for another audience", { aud: "elsewhere" }],
    ["of another issuer", { iss: "https://elsewhere.example" }],
    ["of the other provider, signed by this one", { iss: OTHER_ISS }],
    ["without an end", { exp: null }],
    ["that ended 90 s ago", { exp: NOW_SECS - 90 }],
    ["that begins in 90 s", { nbf: NOW_SECS + 90 }],
    ["issued in 90 s", { iat: NOW_SECS + 90 }],
    ["without a subject", { sub: null }],
    ["whose subject is a number", { sub: 7 }],
  ])("%s is refused", async (_what, claims) => {
    expect(await verdictOn(claims)).toBe("refused");
    expect(results()).toHaveLength(1);
    expect(results()).not.toContain("ok");
  });

  it("signed by a key that is not its provider's, or changed after it was signed, is refused", async () => {
    expect(await verdictOn({ sub: "mallory" }, unpublished, { kid: key.kid })).toBe("refused");
    const [header, , signature] = (await signToken(key, VALID)).split(".");
    const [, payload] = (await signToken(key, { ...VALID, sub: "root" })).split(".");
    expect(await verifier.verify(`${header}.${payload}.${signature}`)).toEqual({ kind: "refused" });
    expect(results()).toEqual(["invalid", "invalid"]);
  });

  it("is refused under an unlisted algorithm, such as none or an HMAC of the public key", async () => {
    const payload = (await signToken(key, VALID)).split(".")[1];
    for (const alg of ["none", "NONE", "None"]) {
      const header = base64url.encode(JSON.stringify({ alg, kid: key.kid }));
      expect(await verifier.verify(`${header}.${payload}.`)).toEqual({ kind: "refused" });
    }
    for (const secret of [JSON.stringify(key.publicJwk), key.publicJwk.n ?? ""]) {
      const signing = new SignJWT(VALID).setProtectedHeader({ alg: "HS256", kid: key.kid });
      const signed = await signing.sign(new TextEncoder().encode(secret));
      expect(await verifier.verify(signed)).toEqual({ kind: "refused" });
    }
    const other = await newIssuerKey("key-3", "PS256");
    published.set(ISS, [key.publicJwk, other.publicJwk]);
    expect(await verdictOn({}, other)).toBe("refused");
  });

  it("that is no JSON is refused", async () => {
    expect(await verifier.verify("eyJ.eyJ.x")).toEqual({ kind: "refused" });
  });

  it("is counted by its result", async () => {
    await verdictOn({ exp: NOW_SECS - 90 });
    await verdictOn({ aud: "elsewhere" });
    await verdictOn({}, unpublished);
    expect(results()).toEqual(["expired", "invalid", "unknown_kid"]);
  });
});

describe("the keys of a provider", () => {
  it("are read again for a token that names a new one, but not for every unknown name", async () => {
    expect(await verdictOn()).toBe("identity");
    const next = await newIssuerKey("key-3", "ES256");
    published.set(ISS, [key.publicJwk, next.publicJwk]);
    expect(await verdictOn({}, next)).toBe("identity");
    published.set(ISS, [key.publicJwk, next.publicJwk, unpublished.publicJwk]);
    expect(await verdictOn({}, unpublished)).toBe("refused");
    for (let at = 0; at < 5; at += 1) expect(await verdictOn({}, key, { kid: `no-such-${at}` })).toBe("refused");
    expect(reads).toEqual([ISS, ISS]);
    expect(await verdictOn()).toBe("identity");
  });

  it("are tried one after another for a token that names none", async () => {
    const [other, stranger] = [await newIssuerKey("key-3", "RS256"), unpublished];
    published.set(ISS, [other.publicJwk, key.publicJwk]);
    expect(await verdictOn({}, key, { kid: undefined })).toBe("identity");
    expect(await verdictOn({}, stranger, { kid: undefined })).toBe("refused");
  });

  it("that were never read make a token unavailable, and not invalid", async () => {
    published.set(ISS, null);
    expect(await verdictOn()).toBe("unavailable");
    expect(results()).toEqual([]);
  });
});
