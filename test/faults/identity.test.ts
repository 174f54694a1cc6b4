/**
 * Identity tokens of OIDC providers on the data plane (docs/rules/identities.md#checks), on a stack that is configured
 * for two of them.
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JWK } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import type { ApiKey } from "../../shared/schema/api-key.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { jsonAnswer, startHttpSink } from "../harness/http-sink.ts";
import { type IssuerKey, newIssuerKey, signToken } from "../harness/issuer-key.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

type OidcIssuer = Awaited<ReturnType<typeof startOidcIssuer>>;

const KEYS_PATH = "/.well-known/jwks.json";

/** An OIDC provider: it publishes keys over HTTP, none at first, and signs tokens with any of them, or with keys that it never published. */
async function startOidcIssuer(audience: string) {
  const published: JWK[] = [];
  let kids = 0;
  const sink = await startHttpSink(({ url }) => {
    if (url !== KEYS_PATH) return { status: 404 };
    const { headers, ...answer } = jsonAnswer({ keys: published }, issuer.status);
    return { ...answer, headers: { ...headers, ...(issuer.status === 302 ? { location: "/elsewhere" } : {}) } };
  });
  const { url } = sink;
  const issuer = {
    /** Its `iss`; below it is `/.well-known/jwks.json`. */
    url,
    /** The keys that it publishes now. */
    published,
    /** The status with which it answers requests for its key set; 200 unless a test changes it. */
    status: 200,
    /** How often its key set was read so far. */
    reads: (): number => sink.asked.filter((asked) => asked.url === KEYS_PATH).length,
    newKey: async (alg = "RS256"): Promise<IssuerKey> => {
      kids += 1;
      return await newIssuerKey(`key-${kids}`, alg);
    },
    /** A token that is valid for ten minutes unless claims or header say otherwise; null removes a claim. */
    sign: async (
      key: IssuerKey,
      claims: Readonly<Record<string, unknown>> = {},
      header: object = {},
    ): Promise<string> => {
      const nowSecs = Math.floor(Date.now() / 1000);
      const stated = { iss: url, aud: audience, iat: nowSecs, exp: nowSecs + 600, ...claims };
      return await signToken(key, stated, header);
    },
    close: sink.close,
  };
  return issuer;
}

let upstream: TestUpstream;
let people: OidcIssuer;
let strict: OidcIssuer;
let late: OidcIssuer;
let crowded: OidcIssuer;
let key: IssuerKey;
let stack: Stack;
let gateway: Gateway;
let folder: string;
const log: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-identity-"));
  upstream = await startTestUpstream();
  people = await startOidcIssuer("gateway");
  strict = await startOidcIssuer("gateway");
  late = await startOidcIssuer("gateway");
  late.status = 500;
  crowded = await startOidcIssuer("gateway");
  key = await people.newKey();
  people.published.push(key.publicJwk);
  const issuers = [
    {
      issuer: people.url,
      audience: ["other", "gateway"],
      algorithms: ["RS256", "ES256", "EdDSA"],
      tenant: "people",
      identity_claims: ["email"],
      device_claim: "device",
    },
    { issuer: strict.url, audience: "gateway", tenant: "known", jit_provision: false },
    { issuer: late.url, audience: "gateway", tenant: "late" },
    { issuer: crowded.url, audience: "gateway", tenant: "crowded" },
  ];
  stack = await startStack({
    env: stackEnv(join(folder, "stack"), { GATEWAY_JWT_ISSUERS: JSON.stringify(issuers) }),
    log: (line) => log.push(line),
  });
  gateway = new Gateway(stack);
  await gateway.must<Model>("POST", "/models", { model_name: "m", upstream_model: "plain", api_base: upstream.url });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([upstream.close(), people.close(), strict.close(), late.close(), crowded.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a chat request with a credential; returns the result and the request id. */
async function chatWith(
  credential: string,
  header: Record<string, string> = {},
): Promise<{ code: unknown; id: string }> {
  const response = await fetch(`${gateway.proxyUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { ...(credential === "" ? {} : { authorization: `Bearer ${credential}` }), ...header },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }] }),
  });
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return {
    code: error === undefined ? response.status : [response.status, error.code, error.message],
    id: response.headers.get("x-gateway-request-id") ?? "",
  };
}

const INVALID = [401, "invalid_token", "invalid token"];
const UNAVAILABLE = [503, "identity_unavailable", "identity provisioning unavailable"];

async function tenantNamed(name: string): Promise<Tenant | undefined> {
  return (await gateway.must<readonly Tenant[]>("GET", "/tenants?limit=1000")).find((tenant) => tenant.name === name);
}

async function keysOf(tenantName: string): Promise<readonly ApiKey[]> {
  const tenant = await tenantNamed(tenantName);
  return tenant === undefined ? [] : await gateway.must("GET", `/tenants/${tenant.id}/keys`);
}

async function metric(name: string): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${stack.metricsUrl}/metrics`)).text();
  const found = [...text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, "gm"))];
  return Object.fromEntries(found.map(([, labels, value]) => [labels?.replace(',cell="local"', ""), Number(value)]));
}

// the first one: neither the provider's keys nor the tenant are known yet
it("a burst of first uses waits for its keys", async () => {
  const own = await crowded.newKey();
  crowded.published.push(own.publicJwk);
  const tokens = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => await crowded.sign(own, { sub: `first-${at}` })),
  );
  const answers = await Promise.all(tokens.map(async (token) => (await chatWith(token)).code));
  expect(answers).toEqual(tokens.map(() => 200));
  expect(await keysOf("crowded")).toHaveLength(60);
});

describe("a token", () => {
  it("is served as its subject, whose key and tenant are made at first use", async () => {
    expect(await tenantNamed("people")).toBeUndefined();
    const subject = randomUUID();
    const token = await people.sign(key, { sub: subject, email: "ada@example.org", device: "laptop-1" });
    const served = await chatWith(token);
    expect(served.code).toBe(200);
    expect((await chatWith("", { "x-api-key": token })).code).toBe(200);
    const [made, ...more] = await keysOf("people");
    expect({ name: made?.name, disabled: made?.disabled, more }).toEqual({
      name: "ada@example.org",
      disabled: false,
      more: [],
    });
    expect(made?.key_prefix).toMatch(/^jwt:[0-9a-f]{14}$/);
    const tenant = await tenantNamed("people");
    expect(await gateway.row(tenant?.id ?? "", served.id)).toMatchObject({
      key_id: made?.id,
      status_code: 200,
      admission: "fast",
    });
    await waitFor(
      () => log.filter((line) => line.includes("identity_tenant_created:people")),
      (lines) => lines.length > 0,
    );
  });

  it("makes one key per subject, however many requests come at once", async () => {
    const before = (await keysOf("people")).length;
    const [one, two] = await Promise.all([people.sign(key, { sub: "crowd" }), people.sign(key, { sub: "loner" })]);
    const answers = await Promise.all(
      [one, one, one, one, two, one].map(async (token) => (await chatWith(token)).code),
    );
    expect(answers).toEqual(Array.from({ length: 6 }, () => 200));
    expect(
      (await keysOf("people"))
        .map(({ name }) => name)
        .slice(before)
        .sort(),
    ).toEqual(["crowd", "loner"]);
  });

  it("is subject to everything that a key is: disabled, deleted, suspended, revoked at once", async () => {
    const token = await people.sign(key, { sub: "grace" });
    expect((await chatWith(token)).code).toBe(200);
    const find = async (): Promise<ApiKey | undefined> => (await keysOf("people")).find(({ name }) => name === "grace");
    const made = await find();
    await gateway.must("PUT", `/keys/${made?.id}/disabled`, { disabled: true });
    expect((await chatWith(token)).code).toEqual([403, "api_key_disabled", "api key disabled"]);
    await gateway.must("PUT", `/keys/${made?.id}/disabled`, { disabled: false });
    expect((await chatWith(token)).code).toBe(200);
    await gateway.must("DELETE", `/keys/${made?.id}`);
    expect((await chatWith(token)).code).toBe(200);
    expect((await find())?.id).not.toBe(made?.id);
    const tenant = await tenantNamed("people");
    await gateway.must("PATCH", `/tenants/${tenant?.id}/status`, { status: "suspended" });
    expect((await chatWith(token)).code).toEqual([403, "tenant_not_active", "tenant is not active"]);
    await gateway.must("PATCH", `/tenants/${tenant?.id}/status`, { status: "active" });
    expect((await chatWith(token)).code).toBe(200);
  });
});

// every way in which a token is wrong is in edge/adapters/token-verifier.test.ts
it("a token that is forged or has ended is refused, and the log says so", async () => {
  const forged = await chatWith(await people.sign(await people.newKey(), { sub: "mallory" }, { kid: key.kid }));
  const ended = await chatWith(await people.sign(key, { sub: "late", exp: Math.floor(Date.now() / 1000) - 90 }));
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = encode({ iss: people.url, aud: "gateway", sub: "root", exp: Math.floor(Date.now() / 1000) + 60 });
  const unsigned = await chatWith(`${encode({ alg: "none", kid: key.kid })}.${claims}.`);
  expect({ forged: forged.code, ended: ended.code, unsigned: unsigned.code }).toEqual({
    forged: INVALID,
    ended: INVALID,
    unsigned: INVALID,
  });
  for (const { id } of [forged, ended, unsigned]) {
    const line = await waitFor(
      () => log.find((each) => each.includes(id)),
      (found) => found !== undefined,
    );
    expect(line).toContain('"error":"invalid_token"');
  }
});

describe("a provider", () => {
  it("can rotate its keys: a token's new key is fetched, but not one for every unknown name", async () => {
    const next = [await people.newKey("ES256"), await people.newKey("EdDSA")];
    people.published.push(...next.map(({ publicJwk }) => publicJwk));
    const first = people.reads();
    for (const each of next) expect((await chatWith(await people.sign(each, { sub: each.alg }))).code).toBe(200);
    expect(people.reads()).toBe(first + 1);
    // Within a minute of that, no token causes another fetch of the keys, not even one that names a real key.
    const third = await people.newKey("ES256");
    people.published.push(third.publicJwk);
    expect((await chatWith(await people.sign(third, { sub: "x" }))).code).toEqual(INVALID);
    for (let at = 0; at < 5; at += 1) await chatWith(await people.sign(key, { sub: "x" }, { kid: `no-such-${at}` }));
    expect(people.reads()).toBe(first + 1);
    expect((await chatWith(await people.sign(key, { sub: "still there" }))).code).toBe(200);
  });

  it("that makes no identities knows only those that exist", async () => {
    const own = await strict.newKey("ES256");
    strict.published.push(own.publicJwk);
    const token = await strict.sign(own, { sub: "nobody" });
    expect((await chatWith(token)).code).toEqual(INVALID);
    expect(await tenantNamed("known")).toBeUndefined();
  });

  it("that has never answered makes its tokens unavailable, not invalid, until it answers", async () => {
    const [other, own] = [await late.newKey(), await late.newKey()];
    late.published.push(other.publicJwk, own.publicJwk);
    const token = await late.sign(own, { sub: "patient" });
    for (const status of [500, 302, 404]) {
      late.status = status;
      expect((await chatWith(token)).code).toEqual(UNAVAILABLE);
    }
    await waitFor(
      () => log.filter((line) => line.includes("jwks_fetch_failed:2")),
      (lines) => lines.length > 0,
    );
    late.status = 200;
    await waitFor(
      async () => (await chatWith(token)).code,
      (code) => code === 200,
    );
    // The provider fails again: the last good set of keys stays in use.
    late.status = 500;
    expect((await chatWith(token)).code).toBe(200);
  });
});

it("what was verified is counted", async () => {
  const counts = await waitFor(
    async () => await metric("gateway_jwt_verify_total"),
    (shown) => (shown['result="unknown_kid"'] ?? 0) >= 5,
  );
  expect(Object.keys(counts).sort()).toEqual(
    ["expired", "invalid", "ok", "unknown_kid"].map((result) => `result="${result}"`),
  );
  expect(counts['result="expired"']).toBe(1);
  expect(counts['result="ok"']).toBeGreaterThan(10);
  const refreshes = await waitFor(
    async () => await metric("gateway_jwks_refresh_total"),
    (shown) => shown['issuer_index="2",result="ok"'] !== undefined,
  );
  expect(refreshes['issuer_index="2",result="error"']).toBeGreaterThan(0);
  expect(refreshes['issuer_index="2",result="ok"']).toBe(1);
});

it("a known identity is served without the control service; a new one waits until it is back", async () => {
  const known = await people.sign(key, { sub: "ada" });
  expect((await chatWith(known)).code).toBe(200);
  const control = stack.parts.get("control");
  process.kill(control?.pid as number, "SIGSTOP");
  try {
    expect((await chatWith(await people.sign(key, { sub: "too early" }))).code).toEqual(UNAVAILABLE);
    expect((await chatWith(known)).code).toBe(200);
  } finally {
    process.kill(control?.pid as number, "SIGCONT");
  }
  const code = await waitFor(
    async () => (await chatWith(await people.sign(key, { sub: "too early" }))).code,
    (answer) => answer === 200,
  );
  expect(code).toBe(200);
});

it("an MCP host finds the issuers, by RFC 9728, without a key and for any name", async () => {
  const refused = await fetch(`${gateway.proxyUrl}/mcp/tools`, { method: "POST" });
  const metadataUrl = `${gateway.proxyUrl}/.well-known/oauth-protected-resource/mcp/tools`;
  expect({ status: refused.status, asks: refused.headers.get("www-authenticate") }).toEqual({
    status: 401,
    asks: `Bearer resource_metadata="${metadataUrl}"`,
  });
  expect(await (await fetch(metadataUrl)).json()).toEqual({
    resource: `${gateway.proxyUrl}/mcp/tools`,
    authorization_servers: [people.url, strict.url, late.url, crowded.url],
    bearer_methods_supported: ["header"],
  });
  expect((await fetch(`${gateway.proxyUrl}/.well-known/oauth-protected-resource`)).status).toBe(404);
});
