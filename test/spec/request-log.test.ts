/**
 * The logs of the running stack: one line for each request, however it ends, with the same values as its row; and no text
 * of the list of secrets, wherever a client puts it.
 * @module-tag processes
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import { NIL_UUID } from "../../shared/usage/usage-row.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { type LogLine, StackLog } from "../harness/stack-log.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const mcp = useMcp(fixture);
const log = new StackLog(inject("logFile"));

/** The log line of an answered request; its body is read to its end. */
async function lineOf(response: Response): Promise<LogLine> {
  await response.text().catch(() => undefined);
  return await log.request(response.headers.get("x-gateway-request-id"));
}

async function sendTo(path: string, { secret }: Minted, post?: { readonly body?: string }): Promise<Response> {
  const headers = { authorization: `Bearer ${secret}` };
  const init = post === undefined ? {} : { method: "POST", ...post };
  return await fetch(`${fixture.gateway.proxyUrl}${path}`, { headers, ...init });
}

describe("the line of a request", () => {
  mainRows(1)([false, true])("that was served says what its row says (stream %s)", async (stream) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await fixture.gateway.chat(minted, { stream });
    const line = await lineOf(response);
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(line).toMatchObject({
      level: 30,
      msg: "POST chat 200",
      request_id: row.request_id,
      cell: "local",
      tenant_id: minted.tenant.id,
      key_id: minted.key.id,
      model: minted.model.model_name,
      status: 200,
      upstream_status: 200,
      error: null,
      admission: "fast",
      cache: "off",
      attempts: 1,
      input_tokens: 11,
      output_tokens: 22,
      cost_usd: row.cost_usd,
      total_ms: row.total_ms,
      ttft_ms: row.ttft_ms,
    });
    expect(new Date(String(line["time"])).toISOString()).toBe(line["time"]);
    for (const step of ["auth", "cache", "admission", "queue_wait", "upstream"])
      expect(line[`${step}_ms`]).toBeGreaterThanOrEqual(0);
  });

  it("that was refused, or failed, says why", async () => {
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url);
    const failing = await gateway.mint(upstream.url, "status=500");
    const away = await gateway.mint("http://127.0.0.1:9/v1");
    const broken = await gateway.mint(upstream.url, "cut,chunks=9,pace=5");
    const spent = await gateway.mint(upstream.url);
    await gateway.must("PATCH", `/tenants/${spent.tenant.id}/budget`, { budget_tokens: 1 });
    await (await gateway.chat(spent)).text();
    const stranger = { ...minted, secret: `sk_${randomBytes(24).toString("hex")}` };
    const lines = await Promise.all([
      lineOf(await gateway.chat(stranger)),
      lineOf(await gateway.chat(minted, { body: { model: "not registered" } })),
      lineOf(await sendTo("/v1/nothing-here", minted)),
      lineOf(await sendTo("/mcp/nobody", minted, {})),
      lineOf(await gateway.chat(failing)),
      lineOf(await gateway.chat(away)),
      lineOf(await gateway.chat(broken, { stream: true })),
      lineOf(await gateway.chat(spent)),
    ]);
    const tenant = minted.tenant.id;
    expect(lines.map((line) => [line["level"], line["status"], line["error"], line["tenant_id"]])).toEqual([
      [30, 401, "invalid_api_key", NIL_UUID],
      [30, 404, "model_not_found", tenant],
      [30, 404, "unknown_endpoint", tenant],
      [30, 404, "mcp_server_not_found", tenant],
      [50, 502, null, failing.tenant.id],
      [50, 502, "upstream_failed", away.tenant.id],
      [30, 200, "upstream_stream_error", broken.tenant.id],
      [30, 403, "tenant_budget_exhausted", spent.tenant.id],
    ]);
    expect(lines[0]).toMatchObject({ address: "127.0.0.1", key_prefix: stranger.secret.slice(0, 18) });
    expect(lines[4]).toMatchObject({ upstream_status: 500, attempts: 1 });
    expect(lines[5]).toMatchObject({ reason: "127.0.0.1:9: Network connection lost." });
  });

  it("that needs no row, or no upstream, is there as well", async () => {
    const minted = await mcp.mint();
    expect(await lineOf(await sendTo("/v1/models", minted))).toMatchObject({ status: 200, key_id: minted.key.id });
    expect(await lineOf(await mcp.call(minted))).toMatchObject({ status: 200, mcp_server: minted.server.name });
    const cached = await fixture.gateway.mint(fixture.upstream.url, "plain", { cache_enabled: true });
    const hit = await waitFor(
      async () => await lineOf(await fixture.gateway.chat(cached)),
      (line) => line["cache"] === "hit",
    );
    expect(hit).toMatchObject({ status: 200, attempts: 0, cost_usd: 0, input_tokens: 11 });
  });

  it("whose client left is 499, with what it owes", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "stall");
    const client = new AbortController();
    const response = await fixture.gateway.chat(minted, { stream: true, signal: client.signal });
    client.abort();
    const line = await lineOf(response);
    expect(line).toMatchObject({ status: 499, error: "client_gone", client_gone: true, upstream_status: 200 });
    expect(line["cost_usd"]).toBeGreaterThan(0);
  });
});

describe("the line of a request whose client never got an answer", () => {
  it("is there when it left the queue, and when it left the upstream", { tags: ["check"] }, async () => {
    const { gateway, upstream } = fixture;
    const held = await gateway.mint(upstream.url, "hang", { max_in_flight: 1 });
    const clients = [new AbortController(), new AbortController()];
    const [first, second] = clients.map(async ({ signal }, at) => {
      await waitFor(
        async () => (await gateway.loadOf(held.model.model_name)).inFlight,
        (inFlight) => inFlight === at,
      );
      return await gateway.chat(held, { signal }).catch(() => null);
    });
    await waitFor(
      async () => await gateway.loadOf(held.model.model_name),
      ({ inFlight, queued }) => inFlight === 1 && queued === 1,
    );
    clients[1]?.abort();
    const queued = { status: 499, error: "client_gone", admission: "queued", attempts: 0, cost_usd: 0 };
    expect(await log.request(held.tenant.id)).toMatchObject(queued);
    clients[0]?.abort();
    await Promise.all([first, second]);
    const called = await waitFor(
      () => log.requests(held.tenant.id),
      (lines) => lines.length === 2,
    );
    expect(called[1]).toMatchObject({ status: 499, error: "client_gone", admission: "fast", attempts: 1 });
  });
});

describe("no log", () => {
  it("holds a secret of a client or an upstream, wherever it is put, nor a prompt", async () => {
    const { gateway, upstream } = fixture;
    const planted = `planted${randomUUID().replaceAll("-", "")}`;
    const key = `sk-${planted}`;
    // The credential of an upstream that answers, one that fails, and one that is away.
    const minted = await gateway.mint(upstream.url, "plain", { api_key: key });
    for (const [name, api_base] of [
      ["failing", upstream.at(planted, "status=500")],
      ["away", "http://127.0.0.1:9/v1"],
    ]) {
      const model = { model_name: `${name}-${minted.mark}`, upstream_model: "plain", api_base, api_key: key };
      await gateway.must<Model>("POST", "/models", { ...model, debug_diagnostics: true });
    }
    const prompt = { messages: [{ role: "user", content: `tell nobody: prompt-${planted}` }] };
    const headers = { cookie: `session=${planted}`, "x-api-key": key, "x-session-id": key };
    const answers = [
      await gateway.chat(minted, { body: prompt, headers }),
      await gateway.chat(minted, { body: { ...prompt, model: `failing-${minted.mark}` }, headers }),
      await gateway.chat(minted, { body: { ...prompt, model: `away-${minted.mark}` }, headers }),
      // Secrets in wrong places: as a model's name, in paths and queries, as a wrong credential.
      await gateway.chat(minted, { body: { ...prompt, model: key } }),
      await gateway.chat(minted, { body: { ...prompt, model: minted.secret } }),
      await sendTo(`/v1/nothing/${planted}?api_key=${planted}`, minted),
      await sendTo(`/v1/models/${minted.secret}?token=${planted}`, minted),
      await sendTo(`/v1/chat/completions?key=${planted}`, minted, { body: `{"${planted}` }),
      await gateway.chat({ ...minted, secret: key }),
      await gateway.chat({ ...minted, secret: `eyJhbGciOiJub25lIn0.${planted}.${planted}` }),
    ];
    const server = await mcp.mint("status=500", { auth_header: `Bearer ${key}` });
    answers.push(await mcp.call(server, `/${planted}?token=${planted}`, { body: JSON.stringify(prompt), headers }));
    await fetch(`${inject("adminUrl")}/api/v1/tenants`, { headers: { authorization: `Bearer ${planted}` } });
    const lines = await Promise.all(answers.map(lineOf));
    expect(lines.map((line) => line["status"])).toEqual([200, 502, 502, 404, 404, 404, 404, 400, 401, 401, 500]);
    const text = log.text();
    for (const secret of [planted, minted.secret, inject("adminToken"), inject("internalToken")])
      expect(text).not.toContain(secret);
    // By its prefix an operator finds the key of a refused caller.
    const { key_prefix: prefix } = minted.key;
    expect(text.replaceAll(`"key_prefix":"${prefix}"`, "")).not.toContain(prefix);
    // The logs contain no secret of other tests that ran at the same time either.
    expect(text).not.toMatch(/sk_[0-9a-f]{48}|"(authorization|cookie|api_key|messages)":"(?!\[redacted\])|hello mark-/);
  });
});

it("no line of the stack's log is split or has a control character, whatever a client names", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url);
  const model = `no\u2028{"level":60}\u2029\u009b31m\u007f\u202e\u001b]0;x\u0007\r\nsuch`;
  const line = await lineOf(await fixture.gateway.chat(minted, { body: { model } }));
  expect(line).toMatchObject({ status: 404, error: "model_not_found" });
  const text = readFileSync(inject("logFile"), "utf8");
  expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u);
});
