/**
 * Requests that run when their key or tenant is revoked end within seconds, with the refusal that the next request gets
 * (docs/rules/keys.md#running-requests); those of others continue.
 */
import { describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import { dataOf, useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { type McpMinted, useMcp } from "../harness/mcp-fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const mcp = useMcp(fixture);

/** Longer than any test. */
const ENDLESS = "chunks=100000,pace=50";
const ENDS_WITHIN_MS = 5_000;

interface Revocation {
  readonly what: string;
  readonly revoke: (minted: Minted) => Promise<unknown>;
  readonly status: number;
  readonly code: string;
  /** Whether it is of the tenant, with all of its keys. */
  readonly ofTenant?: true;
}

const DISABLED: Revocation = {
  what: "its key is disabled",
  revoke: async ({ key }) => await fixture.gateway.must("PUT", `/keys/${key.id}/disabled`, { disabled: true }),
  status: 403,
  code: "api_key_disabled",
};

const REVOCATIONS: readonly Revocation[] = [
  DISABLED,
  {
    what: "its tenant is suspended",
    revoke: async ({ tenant }) => await fixture.gateway.must("PATCH", `/tenants/${tenant.id}`, { status: "suspended" }),
    status: 403,
    code: "tenant_not_active",
    ofTenant: true,
  },
  {
    what: "its key is deleted",
    revoke: async ({ key }) => await fixture.gateway.must("DELETE", `/keys/${key.id}`),
    status: 401,
    code: "invalid_api_key",
  },
  {
    what: "its tenant is deleted",
    revoke: async ({ tenant }) => await fixture.gateway.must("DELETE", `/tenants/${tenant.id}`),
    status: 401,
    code: "invalid_api_key",
    ofTenant: true,
  },
  {
    what: "its key gets a new secret without a grace",
    revoke: async ({ key }) => await fixture.gateway.must("POST", `/keys/${key.id}/rotate`, {}),
    status: 401,
    code: "invalid_api_key",
  },
  {
    what: "its key gets an end in the past",
    revoke: async ({ key }) =>
      await fixture.gateway.must("PATCH", `/keys/${key.id}`, { expires_at: "2020-01-01T00:00:00Z" }),
    status: 403,
    code: "api_key_expired",
  },
];

/** Another caller of the model: of the same tenant, or of another one. */
async function beside(minted: Minted, ofTenant: boolean): Promise<Minted> {
  const { tenant } = ofTenant ? await fixture.gateway.mint(fixture.upstream.url) : minted;
  const { key, secret } = await fixture.gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, {
    name: "beside",
  });
  return { ...minted, tenant, key, secret };
}

/** A stream that runs, and what reads on. */
async function streaming(minted: Minted) {
  const leaving = new AbortController();
  const response = await fixture.gateway.chat(minted, { stream: true, signal: leaving.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  const next = async (): Promise<string | null> => (await reader.read()).value ?? null;
  let text = (await next()) ?? "";
  const rest = async (): Promise<string> => {
    for (let more = await next(); more !== null; more = await next()) text += more;
    return text;
  };
  return { id: response.headers.get("x-gateway-request-id"), next, rest, leave: () => leaving.abort() };
}

mainRows(2)(REVOCATIONS)(
  "a stream ends with the refusal when $what, and owes what was seen",
  async ({ revoke, status, code, ofTenant = false }) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, ENDLESS);
    const revoked = await streaming(minted);
    const other = await streaming(await beside(minted, ofTenant));
    await revoke(minted);
    const revokedMs = Date.now();
    const events = dataOf(await revoked.rest());
    const lastedMs = Date.now() - revokedMs;
    expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({ error: { code } });
    expect(lastedMs).toBeLessThan(ENDS_WITHIN_MS);
    const [upstreamOfRevoked, upstreamOfOther] = await waitFor(
      () => fixture.upstream.seen(minted.mark),
      ([first]) => first?.cutOff === true,
    );
    const row = await fixture.gateway.row(minted.tenant.id, revoked.id);
    expect(row).toMatchObject({ status_code: status, error_code: code, upstream_status: 200, admission: "fast" });
    expect(row.output_tokens).toBeGreaterThan(0);
    expect(row.output_tokens).toBeLessThanOrEqual((upstreamOfRevoked?.chunksWritten ?? 0) + 1);
    expect(row.cost_usd).toBeGreaterThan(0);
    expect({ goesOn: (await other.next()) !== null, cutOff: upstreamOfOther?.cutOff }).toEqual({
      goesOn: true,
      cutOff: false,
    });
    other.leave();
  },
);

it("a request without an answer and one that waits get the refusal itself", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, "hang", { max_in_flight: 1 });
  const unanswered = fixture.gateway.chat(minted);
  await waitFor(
    () => fixture.upstream.seen(minted.mark).length,
    (seen) => seen === 1,
  );
  const other = await beside(minted, false);
  const waiting = fixture.gateway.chat({ ...other, mark: "waits" });
  await waitFor(
    async () => await fixture.gateway.loadOf(minted.model.model_name),
    ({ queued }) => queued === 1,
  );
  await DISABLED.revoke(other);
  const refused = await waiting;
  await DISABLED.revoke(minted);
  const ended = await unanswered;
  const rowOf = async ({ headers }: Response) =>
    await fixture.gateway.row(minted.tenant.id, headers.get("x-gateway-request-id"));
  expect({
    refused: refused.status,
    ended: ended.status,
    bodies: [await refused.json(), await ended.json()],
  }).toMatchObject({
    refused: 403,
    ended: 403,
    bodies: [{ error: { code: "api_key_disabled" } }, { error: { code: "api_key_disabled" } }],
  });
  const nothing = { status_code: 403, error_code: "api_key_disabled", output_tokens: 0, cost_usd: 0 };
  expect({ refused: await rowOf(refused), ended: await rowOf(ended) }).toMatchObject({
    refused: { ...nothing, admission: "rejected" },
    ended: { ...nothing, admission: "fast" },
  });
  await waitFor(
    () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
    (cutOff) => cutOff === true,
  );
});

it("a change that refuses nothing ends nothing, and a later one does", { tags: ["check"] }, async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, ENDLESS);
  const stream = await streaming(minted);
  await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { weight: 7 });
  await fixture.gateway.must("PATCH", `/keys/${minted.key.id}`, { name: "renamed" });
  // a later stream that was revoked has ended: the check that asked for that has seen these changes too
  const later = await fixture.gateway.mint(fixture.upstream.url, ENDLESS);
  const first = await streaming(later);
  await DISABLED.revoke(later);
  await first.rest();
  expect(fixture.upstream.seen(minted.mark)[0]?.cutOff).toBe(false);
  await DISABLED.revoke(minted);
  expect(JSON.parse(dataOf(await stream.rest()).at(-1) ?? "")).toMatchObject({ error: { code: "api_key_disabled" } });
});

describe("an MCP stream", () => {
  /** A GET stream after its first event, and its end, which has no event: every event is a message of the server. */
  async function listening(minted: McpMinted, rest: string, first: string) {
    const leaving = new AbortController();
    const response = await mcp.call(minted, rest, { method: "GET", signal: leaving.signal });
    const seen = await mcp.seenOnce(minted.mark);
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    seen.say(first);
    await reader.read();
    return { seen, next: async () => (await reader.read()).value ?? null, leave: () => leaving.abort() };
  }

  const ENDPOINT = "event: endpoint\ndata: /mcp/events/messages?sessionId=one\n\n";

  it.each([
    ["of today's transport", "data: 1\n\n"],
    ["of the older transport", ENDPOINT],
  ])("%s ends in order when its key is disabled, and another continues", async (_what, first) => {
    const minted = await mcp.mint("events");
    const other = await mcp.mint("events");
    const stream = await listening(minted, `/${minted.mark}`, first);
    const untouched = await listening(other, `/${other.mark}`, first);
    await DISABLED.revoke(minted);
    expect(await stream.next()).toBeNull();
    await waitFor(
      () => stream.seen,
      ({ cutOff }) => cutOff,
    );
    untouched.seen.say("data: 2\n\n");
    expect(await untouched.next()).toBe("data: 2\n\n");
    untouched.leave();
  });

  it("ends at the time at which its key expires", { tags: ["check"] }, async () => {
    const minted = await mcp.mint("events");
    const stream = await listening(minted, `/${minted.mark}`, "data: 1\n\n");
    const endMs = Date.now() + 3_000;
    await fixture.gateway.must("PATCH", `/keys/${minted.key.id}`, { expires_at: new Date(endMs).toISOString() });
    expect(await stream.next()).toBeNull();
    expect(Date.now()).toBeGreaterThanOrEqual(endMs);
  });

  it("that has no answer yet gets the refusal", { tags: ["check"] }, async () => {
    const minted = await mcp.mint("silent");
    const called = mcp.call(minted, `/${minted.mark}`);
    await mcp.seenOnce(minted.mark);
    await DISABLED.revoke(minted);
    const { status } = await called;
    expect(status).toBe(403);
  });
});
