/** Captured calls on a running stack whose key-value store the test reads (docs/rules/capture.md). */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { captureField, storeKeys } from "../../shared/records.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Capture } from "../../shared/schema/capture.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useBridgedStack } from "../harness/bridged-stack.ts";
import type { Minted } from "../harness/gateway.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";
import { waitFor } from "../harness/wait-for.ts";

const MINUTE_MS = 60_000;
const MAIL = "jane@example.com";
const UPSTREAM_KEY = `sk-${"u".repeat(24)}`;
const EVENTS = `data: {"choices":[{"delta":{"content":"said"}}]}\n\ndata: [DONE]\n\n`;

const bridged = useBridgedStack(1, { GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString("base64") });
let upstream: HttpSink;
beforeAll(async () => {
  upstream = await startHttpSink();
  upstream.answer = ({ body }) =>
    (JSON.parse(body) as { stream?: boolean }).stream === true
      ? { status: 200, headers: { "content-type": "text/event-stream" }, body: EVENTS }
      : {
          status: 200,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ choices: [{ message: { role: "assistant", content: "said" } }] }),
        };
});
afterAll(async () => await upstream.close());

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
async function minted(until: string | null, scanners: readonly string[] = []): Promise<Minted> {
  const made = await bridged.gateway.mint(upstream.url, "plain", { api_key: UPSTREAM_KEY });
  const policy = { action: "redact", input_scanners: scanners, guard_model: made.model.model_name };
  await bridged.gateway.must("PATCH", `/tenants/${made.tenant.id}`, {
    capture_until: until,
    ...(scanners.length > 0 ? { guardrails_policy: policy } : {}),
  });
  return made;
}
async function chat(of: Minted, body: object = {}): Promise<{ readonly id: string; readonly text: string }> {
  const response = await bridged.gateway.chat(of, { body: { ...body } });
  return { id: response.headers.get("x-gateway-request-id") ?? "", text: await response.text() };
}
const read = async (id: string) => await bridged.gateway.admin("GET", `/usage/logs/${id}/capture`);
/** The capture of a call, once its row is there. */
async function captureOf(of: Minted, id: string): Promise<Capture> {
  await bridged.gateway.row(of.tenant.id, id);
  const response = await waitFor(
    async () => await read(id),
    ({ status }) => status === 200,
  );
  return (await response.json()) as Capture;
}
const fieldsOf = async ({ tenant }: Minted) =>
  (await bridged.backend.call(["HKEYS", storeKeys.captures(tenant.id)])) as string[];
const metricOf = async (outcome: string) => {
  const text = await (await fetch(`${bridged.stack.metricsUrl}/metrics`)).text();
  return Number(new RegExp(`^gateway_captures_total\\{[^}]*outcome="${outcome}"[^}]*\\} (.+)$`, "m").exec(text)?.[1]);
};

describe("a tenant whose capture is off", () => {
  it("leaves nothing in the store", async () => {
    const [off, on] = [await minted(null), await minted(inMs(MINUTE_MS))];
    const { id } = await chat(off);
    await captureOf(on, (await chat(on)).id);
    await bridged.gateway.row(off.tenant.id, id);
    expect({ status: (await read(id)).status, fields: await fieldsOf(off) }).toEqual({ status: 404, fields: [] });
  });

  it("is captured no more once the time is over", async () => {
    const [ended, on] = [await minted(inMs(-1)), await minted(inMs(MINUTE_MS))];
    await chat(ended);
    await captureOf(on, (await chat(on)).id);
    expect(await fieldsOf(ended)).toEqual([]);
  });
});

describe("a tenant whose capture is on", () => {
  it("has its calls sealed in the store for a day, and read by admins with an audit entry", async () => {
    const of = await minted(inMs(MINUTE_MS));
    const { id, text } = await chat(of);
    const capture = await captureOf(of, id);
    expect(capture).toMatchObject({
      request_id: id,
      tenant_id: of.tenant.id,
      path: "/v1/chat/completions",
      status_code: 200,
      answer: { text, bytes: text.length, cut: false },
    });
    expect(JSON.parse(capture.request.text)).toEqual({
      model: of.model.model_name,
      messages: [{ role: "user", content: `hello ${of.mark}` }],
    });
    const stored = (await bridged.backend.call(["HGETALL", storeKeys.captures(of.tenant.id)])) as string[];
    const ttl = Number(await bridged.backend.call(["TTL", storeKeys.captures(of.tenant.id)]));
    expect({
      sealed: stored[1]?.startsWith("enc:v1:"),
      plain: stored.join(" ").includes(of.mark) || stored.join(" ").includes("said"),
      endsInADay: ttl > 0 && ttl <= 24 * 3600,
      credentials: [of.secret, UPSTREAM_KEY].filter((each) => JSON.stringify(capture).includes(each)),
    }).toEqual({ sealed: true, plain: false, endsInADay: true, credentials: [] });
    const audits = await bridged.gateway.must<readonly AuditEntry[]>("GET", `/audit?entity_id=${id}`);
    expect(audits.map(({ action, actor, detail }) => ({ action, actor, detail }))).toEqual([
      { action: "read_capture", actor: "admin", detail: { tenant_id: of.tenant.id } },
    ]);
  });

  it("has the text of a stream", { tags: ["check"] }, async () => {
    const of = await minted(inMs(MINUTE_MS));
    const { id, text } = await chat(of, { stream: true });
    expect((await captureOf(of, id)).answer).toEqual({ text, bytes: text.length, cut: false });
    expect(text).toContain("said");
  });

  it("has neither what guardrails redact, nor credentials in texts, nor calls to the guard model", {
    tags: ["check"],
  }, async () => {
    const of = await minted(inMs(MINUTE_MS), ["pii", "harm"]);
    const content = `write to ${MAIL} with sk-${"x".repeat(24)}`;
    const { request } = await captureOf(of, (await chat(of, { messages: [{ role: "user", content }] })).id);
    const rows = await waitFor(
      async () => await bridged.gateway.rows(of.tenant.id),
      ({ length }) => length === 2,
    );
    const sent = JSON.parse(upstream.asked.at(-1)?.body ?? "") as { messages: [{ content: string }] };
    const captured = JSON.parse(request.text) as { messages: [{ content: string }] };
    expect({
      types: rows.map(({ request_type }) => request_type).toSorted(),
      captures: (await fieldsOf(of)).length,
      captured: captured.messages[0].content,
      mail: request.text.includes(MAIL),
    }).toEqual({
      types: ["chat", "guardrails_boon"],
      captures: 1,
      captured: sent.messages[0].content.replace(/sk-x+/, "[redacted]"),
      mail: false,
    });
  });

  it("has the first 64 KiB of a long body, and its size", { tags: ["check"] }, async () => {
    const of = await minted(inMs(MINUTE_MS));
    const content = "é".repeat(LIMITS.capturedText);
    const { request } = await captureOf(of, (await chat(of, { messages: [{ role: "user", content }] })).id);
    expect({
      cut: request.cut,
      isLarger: request.bytes > 2 * LIMITS.capturedText,
      text: Buffer.byteLength(request.text) <= LIMITS.capturedText && request.text.endsWith("éé"),
    }).toEqual({ cut: true, isLarger: true, text: true });
  });

  it("has its newest 100 calls of the last day", { tags: ["check"] }, async () => {
    const of = await minted(inMs(MINUTE_MS));
    const hash = storeKeys.captures(of.tenant.id);
    const field = (at: number, ageMs: number) => captureField(Date.now() - ageMs, `old-${at}`);
    const old = Array.from({ length: 105 }, (_, at) => [field(at, 60_000 - at), "x"]).flat();
    await bridged.backend.call(["HSET", hash, field(999, LIMITS.captureTime + 1000), "x", ...old]);
    await captureOf(of, (await chat(of)).id);
    const fields = await waitFor(
      async () => await fieldsOf(of),
      ({ length }) => length <= LIMITS.tenantCaptures,
    );
    const names = fields.toSorted().map((each) => each.slice(13));
    expect({ count: names.length, oldest: names[0] }).toEqual({ count: LIMITS.tenantCaptures, oldest: "old-6" });
  });

  it("has none to read while capture is off, although one came into the store afterwards", {
    tags: ["check"],
  }, async () => {
    const of = await minted(inMs(MINUTE_MS));
    const { id } = await chat(of);
    await captureOf(of, id);
    const hash = storeKeys.captures(of.tenant.id);
    const late = (await bridged.backend.call(["HGETALL", hash])) as string[];
    const turn = async (until: string | null) => {
      await bridged.gateway.must("PATCH", `/tenants/${of.tenant.id}`, { capture_until: until });
      return (await read(id)).status;
    };
    const off = await turn(null);
    await bridged.backend.call(["HSET", hash, ...late]);
    const afterwards = (await read(id)).status;
    expect({ off, afterwards, onAgain: await turn(inMs(MINUTE_MS)) }).toEqual({
      off: 404,
      afterwards: 404,
      onAgain: 404,
    });
  });

  it.each([
    ["capture is set to null", "PATCH", { capture_until: null }],
    ["the tenant is deleted", "DELETE", undefined],
  ])("loses all of it when %s", { tags: ["check"] }, async (_, method, body) => {
    const of = await minted(inMs(MINUTE_MS));
    const { id } = await chat(of);
    await captureOf(of, id);
    await bridged.gateway.must(method, `/tenants/${of.tenant.id}`, body);
    expect({ status: (await read(id)).status, fields: await fieldsOf(of) }).toEqual({ status: 404, fields: [] });
  });

  it("answers while the store is away, and counts what was not kept", { tags: ["check"] }, async () => {
    const of = await minted(inMs(MINUTE_MS));
    await captureOf(of, (await chat(of)).id);
    const before = await metricOf("dropped");
    const storeReturns = await bridged.storeLeaves();
    const response = await bridged.gateway.chat(of);
    await response.text();
    await waitFor(
      async () => await metricOf("dropped"),
      (dropped) => dropped > before,
    );
    await storeReturns();
    expect(response.status).toBe(200);
  });
});

it("a capture lasts at most a day", { tags: ["check"] }, async () => {
  const of = await minted(null);
  const response = await bridged.gateway.admin("PATCH", `/tenants/${of.tenant.id}`, {
    capture_until: inMs(LIMITS.captureTime + MINUTE_MS),
  });
  const { capture_until } = await bridged.gateway.must<Tenant>("GET", `/tenants/${of.tenant.id}`);
  expect({ status: response.status, text: await response.text(), capture_until }).toMatchObject({
    status: 400,
    text: expect.stringContaining("must be at most 24 hours ahead"),
    capture_until: null,
  });
});
