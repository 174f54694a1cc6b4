/**
 * A stop of the whole stack while requests run (docs/rules/local-stack.md#stop): they finish, or get an error at the end of
 * the drain, and their rows say so after the next start.
 * @module-tag long
 */
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { type Launched, launchReady } from "../harness/launched.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

let dataDir: string;
let upstream: TestUpstream;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "gateway-drain-"));
  upstream = await startTestUpstream();
});
afterEach(async () => {
  await upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** A stack whose drain takes so long, with a client of it. */
async function started(drainSecs: number, more: Readonly<Record<string, string>> = {}) {
  const stack = await launchReady(dataDir, { GATEWAY_DRAIN_SECS: String(drainSecs), ...more });
  return { stack, gateway: new Gateway(stack) };
}

/** Resolves when the upstream has begun so many requests of a tenant. */
async function begun({ mark }: Minted, count = 1): Promise<void> {
  await waitFor(
    () => upstream.seen(mark).filter(({ chunksWritten }) => chunksWritten > 0).length,
    (seen) => seen >= count,
  );
}

/** Whether new connections are refused. */
async function refuses({ proxyUrl }: Launched): Promise<void> {
  await waitFor(
    async () =>
      await fetch(`${proxyUrl}/health`).then(
        () => "answered",
        (error: Error) => (error.cause as NodeJS.ErrnoException).code,
      ),
    (code) => code === "ECONNREFUSED",
  );
}

/** The row of a request, as the next start of the stack shows it. */
async function rowOf({ tenant }: Minted, requestId: string | null) {
  const { stack, gateway } = await started(0);
  const row = await gateway.row(tenant.id, requestId);
  await stack.end("SIGTERM");
  return row;
}

const eventsOf = (text: string): readonly string[] => text.split("\n\n").filter((event) => event !== "");

it("finishes a stream that ends within the drain, and refuses new connections", async () => {
  const { stack, gateway } = await started(20);
  const minted = await gateway.mint(upstream.url, "chunks=12,pace=250");
  const response = await gateway.chat(minted, { stream: true });
  await begun(minted);
  const ended = stack.end("SIGTERM");
  await refuses(stack);
  expect(upstream.seen(minted.mark)[0]?.done).toBe(false);
  const events = eventsOf(await response.text());
  expect({ last: events.at(-1), code: await ended }).toEqual({ last: "data: [DONE]", code: 0 });
  expect(await rowOf(minted, response.headers.get("x-gateway-request-id"))).toMatchObject({
    status_code: 200,
    error_code: "",
  });
});

it("closes idle connections at once, and the others after their answer", async () => {
  const { stack, gateway } = await started(20);
  const minted = await gateway.mint(upstream.url, "delay=2000");
  const agent = new http.Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const idle = http.get(`${stack.proxyUrl}/health`, { agent }, (response) => response.resume());
  idle.on("socket", (socket) => socket.once("close", resolve));
  await waitFor(
    () => Object.values(agent.freeSockets).flat().length,
    (free) => free === 1,
  );
  const answer = gateway.chat(minted);
  await waitFor(
    () => upstream.seen(minted.mark).length,
    (seen) => seen === 1,
  );
  const ended = stack.end("SIGTERM");
  await closed;
  expect(upstream.seen(minted.mark)[0]?.done).toBe(false);
  const { status, headers } = await answer;
  expect({ status, connection: headers.get("connection"), code: await ended }).toEqual({
    status: 200,
    connection: "close",
    code: 0,
  });
});

describe.each([
  ["one process", {}],
  ["two Worker processes", { GATEWAY_WORKERS: "2" }],
])("the end of the drain with %s", (_, more) => {
  it("ends streams with an error event, answers 503 to the others, and loses no row", async () => {
    const { stack, gateway } = await started(2, { GATEWAY_GLOBAL_MAX_IN_FLIGHT: "2", ...more });
    const streams = await gateway.mint(upstream.url, "chunks=100000,pace=100");
    const silent = await gateway.mint(upstream.url, "hang");
    const waiting = await gateway.mint(upstream.url);
    const streamed = await gateway.chat(streams, { stream: true });
    await begun(streams);
    const unanswered = fetch(`${gateway.proxyUrl}/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${silent.secret}` },
      body: JSON.stringify({ model: silent.model.model_name, messages: [{ role: "user", content: silent.mark }] }),
    });
    await waitFor(
      () => upstream.seen(silent.mark).length,
      (seen) => seen === 1,
    );
    const queued = gateway.chat(waiting);
    await waitFor(
      async () => await (await fetch(`${stack.metricsUrl}/metrics`)).text(),
      (text) => /^gateway_queue_depth(?:\{[^}]*\})? 1$/m.test(text),
    );
    const ended = stack.end("SIGTERM");
    const text = await streamed.text();
    const [hung, refused] = await Promise.all([unanswered, queued]);
    const errors = await Promise.all([hung.json(), refused.json()]);
    const seen = upstream.seen(streams.mark)[0]?.chunksWritten ?? 0;
    const stopping = { error: { code: "gateway_stopping", type: "server_error" } };
    const stoppingMessage = { type: "error", error: { code: "gateway_stopping", type: "overloaded_error" } };
    expect({ code: await ended, last: JSON.parse(eventsOf(text).at(-1)?.slice("data: ".length) ?? "") }).toMatchObject({
      code: 0,
      last: stopping,
    });
    for (const [at, { status, headers }] of [hung, refused].entries())
      expect({ status, retryAfter: headers.get("retry-after"), body: errors[at] }).toMatchObject({
        status: 503,
        retryAfter: "1",
        body: at === 0 ? stoppingMessage : stopping,
      });
    const lines = stack.log().filter(({ event }) => event === "request");
    expect(lines.map(({ error }) => error)).not.toContain("client_gone");
    const again = await started(0);
    const rowFor = async ({ tenant }: Minted, { headers }: Response) =>
      await again.gateway.row(tenant.id, headers.get("x-gateway-request-id"));
    const stopped = { status_code: 503, error_code: "gateway_stopping" };
    const row = await rowFor(streams, streamed);
    expect({ row, hung: await rowFor(silent, hung), refused: await rowFor(waiting, refused) }).toMatchObject({
      row: stopped,
      hung: { ...stopped, output_tokens: 0 },
      // it may get the slot of a stream that ends, just before it ends too
      refused: { ...stopped, output_tokens: 0, cost_usd: 0 },
    });
    const { id } = streams.tenant;
    // Reserved amounts that nothing reported would stay until the ledger is asked, for minutes.
    expect(await again.gateway.must("GET", `/tenants/${id}/budget/usage`)).toMatchObject({
      used_tokens: row.total_tokens,
      reserved_tokens: 0,
      reserved_cost_usd: 0,
    });
    expect(row.output_tokens).toBeGreaterThan(5);
    expect(row.output_tokens).toBeLessThanOrEqual(seen + 1);
    await again.stack.end("SIGTERM");
  });
});

it("ends at once by a second signal", async () => {
  const { stack, gateway } = await started(60);
  const minted = await gateway.mint(upstream.url, "chunks=100000,pace=100");
  const response = await gateway.chat(minted, { stream: true });
  await begun(minted);
  const ended = stack.end("SIGTERM");
  await refuses(stack);
  const cut = response.text().catch(() => "cut");
  const again = setInterval(() => void stack.end("SIGTERM"), 250);
  onTestFinished(() => clearInterval(again));
  const code = await ended;
  expect({ code, text: await cut, last: stack.lines.at(-1) }).toEqual({
    code: 1,
    text: "cut",
    last: expect.stringContaining("a second SIGTERM"),
  });
});
