/**
 * Everything that an upstream can do, under every way of choosing an endpoint (docs/rules/upstream-calls.md#attempts):
 * status, body, headers, attempts, row, alert and counters. On a stack of its own, so that the counters count only
 * these requests. `npm run check` has two of the ways, `npm run test:release` all.
 *
 * @module-tag long
 */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fnv1a64 } from "../../edge/domain/wire/bytes/fnv1a.ts";
import type { Stack } from "../../infra/local/stack.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import type { Span } from "../../shared/schema/usage-reads.ts";
import { dataOf } from "../harness/fixture.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { garbage } from "../harness/upstream-answers.ts";
import { waitFor } from "../harness/wait-for.ts";
import { CASES, type Case, type ExpectedOutcome } from "./upstream-cases.ts";

const MODES = ["own address", "failover", "load_balance", "session_hash"] as const;
type Mode = (typeof MODES)[number];

/** How many writes, and then requests, run at once. */
const SIDE_BY_SIDE = 4;

/** A case that is ready: its model exists, and these headers put its bad endpoint first. */
interface Ready {
  readonly entry: Case;
  readonly mode: Mode;
  readonly minted: Minted;
  readonly headers: Readonly<Record<string, string>>;
}

interface Result {
  readonly outcome: Pick<ExpectedOutcome, "status" | "attempts"> & { readonly reads: string };
  readonly headers: Headers;
}

/** The modes whose cases have all been met. */
const met: Mode[] = [];
const results = new Map<string, Result>();
/** By request id. */
const rows = new Map<string, UsageLog>();
const lines: string[] = [];
let upstream: TestUpstream;
let stack: Stack;
let gateway: Gateway;
let caller: Minted;

const nameOf = (entry: Case, mode: Mode): string => `${entry.behaviour} ${mode}`;
const expected = (entry: Case, mode: Mode): ExpectedOutcome => (mode === "own address" ? entry.alone : entry.beside);

beforeAll(async () => {
  upstream = await startTestUpstream();
  const env = { GATEWAY_UPSTREAM_BASE_URL: upstream.at("default", "plain"), GATEWAY_UPSTREAM_TIMEOUT_SECS: "2" };
  stack = await startTestStack(env, { log: (line) => lines.push(line) });
  gateway = new Gateway(stack);
  caller = await gateway.mint(upstream.url);
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

/** Sends a request for each case, and waits for their rows. */
async function meetAll(mode: Mode): Promise<void> {
  met.push(mode);
  const ready = await sideBySide(CASES, async (entry) => await prepare(entry, mode));
  const send = async (one: Ready): Promise<void> => void results.set(nameOf(one.entry, one.mode), await meet(one));
  const isLarge = ({ entry }: Ready): boolean => entry.behaviour.startsWith("mb=");
  await sideBySide(
    ready.filter((one) => !isLarge(one)),
    send,
  );
  // One at a time: a case that moves 20 MB leaves little of a small machine to other cases.
  for (const one of ready.filter(isLarge)) await send(one);
  const found = await waitFor(
    async () => await gateway.rows(caller.tenant.id),
    ({ length }) => length >= CASES.length * met.length,
  );
  for (const row of found) rows.set(row.request_id, row);
  // A line of the log may arrive after the row of its request.
  const alerting = CASES.filter((entry) => expected(entry, mode).alert !== null);
  const ids = alerting.map((entry) => results.get(nameOf(entry, mode))?.headers.get("x-gateway-request-id") ?? "");
  await waitFor(
    () => ids.filter((id) => alertOf(id) === null),
    (missing) => missing.length === 0,
  );
}

async function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const waiting = [...items];
  const done: R[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) done.push(await work(next));
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return done;
}

/** A model that only this case uses. */
async function prepare(entry: Case, mode: Mode): Promise<Ready> {
  const badUrl = entry.behaviour === "refuses" ? "http://127.0.0.1:9/v1" : upstream.at("bad", entry.behaviour);
  const mark = `mark-${randomUUID()}`;
  const model = await gateway.must<Model>("POST", "/models", {
    model_name: `model-${mark}`,
    upstream_model: "plain",
    api_base: mode === "own address" ? badUrl : "",
    input_cost_per_token: 0.001,
    output_cost_per_token: 0.01,
    max_retries: 1,
    retry_backoff_ms: 20,
    request_timeout_secs: /hang|stall/.test(entry.behaviour) ? 2 : 60,
    endpoint_selection_mode: mode === "own address" ? "failover" : mode,
  });
  const minted = { ...caller, model, mark };
  const headers = mode === "own address" ? {} : await addEndpoints(minted, mode, badUrl);
  return { entry, mode, minted, headers };
}

/** Sends one request; returns what can be seen of it at once. */
async function meet({ entry, minted, headers }: Ready): Promise<Result> {
  const response = await gateway.chat(minted, { stream: entry.stream ?? false, headers });
  const reads = readsOf(response, await response.text().catch(() => null));
  const attempts = upstream.attempts(minted.mark);
  return { outcome: { status: response.status, reads, attempts }, headers: response.headers };
}

/** A bad endpoint that comes first by the rule of the mode, and a good one. Returns the headers that make it come first. */
async function addEndpoints(minted: Minted, mode: Mode, badUrl: string): Promise<Record<string, string>> {
  const add = async (name: string, api_base: string, fields: object): Promise<string> =>
    (await gateway.must<{ id: string }>("POST", `/models/${minted.model.id}/endpoints`, { name, api_base, ...fields }))
      .id;
  const goodId = await add("a", upstream.at("good", "plain"), { priority: 2, weight: 1 });
  // By its weight it comes first except once in 10^15 times.
  const badId = await add("b", badUrl, { priority: 1, weight: 1_000_000_000_000_000 });
  if (mode !== "session_hash") return {};
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const rank = (session: string, id: string): string => fnv1a64([bytes(`${session}\u0000`), bytes(id)]);
  let session = "s0";
  for (let next = 1; rank(session, badId) < rank(session, goodId); next += 1) session = `s${next}`;
  return { "x-session-id": session };
}

/** What a client reads in the answer. */
function readsOf(response: Response, text: string | null): string {
  if (text === null) return "cut body";
  if (Buffer.from(text).equals(Buffer.from(garbage().toString("utf8")))) return "garbage";
  if (response.headers.get("content-type") === "text/event-stream") {
    const last = dataOf(text).at(-1) ?? "";
    if (last === "[DONE]") return dataOf(text).every(isWhole) && !text.includes("prompt_tokens") ? "stream" : text;
    const { error } = JSON.parse(last) as { error?: unknown };
    const interrupted = { type: "upstream_error", code: "upstream_stream_error", param: null };
    return JSON.stringify(error) === JSON.stringify({ message: "upstream stream interrupted", ...interrupted }) &&
      dataOf(text).every(isWhole)
      ? "in-band error"
      : text;
  }
  const body = JSON.parse(text) as { id?: string; detail?: string; error?: { code: string | number } };
  if (body.id === "chatcmpl-test") return "answer";
  const upstreamStatus = response.headers.get("x-gateway-upstream-status");
  const isOwn = body.detail === `status ${upstreamStatus}` || String(body.error?.code) === upstreamStatus;
  return isOwn ? "own error" : String(body.error?.code ?? text);
}

function isWhole(data: string): boolean {
  return data === "[DONE]" || (JSON.parse(data) as object) !== null;
}

/** The alert of a request, from the log of the Worker. */
function alertOf(requestId: string): string | null {
  const line = lines.find((entry) => entry.includes(requestId) && /"event":"upstream_/.test(entry));
  return /"event":"([a-z0-9_]+)"/.exec(line ?? "")?.[1] ?? null;
}

function everyCase(mode: Mode): void {
  beforeAll(async () => await meetAll(mode), 120_000);

  it.each(CASES.map((entry) => [entry.behaviour, entry] as const))("%s", (_behaviour, entry) => {
    const result = results.get(nameOf(entry, mode)) as Result;
    // The counters are known for all requests together.
    const { billed, counted: _, ...outcome } = expected(entry, mode);
    const { headers } = result;
    const row = rows.get(headers.get("x-gateway-request-id") ?? "") as UsageLog;
    const seen = { ...result.outcome, upstreamStatus: row.upstream_status, alert: alertOf(row.request_id) };
    expect(seen).toEqual(outcome);
    const tokens = { reported: 33, estimate: row.estimated_tokens, nothing: 0 };
    if (billed === "seen") expect(row.output_tokens).toBeLessThan(row.estimated_tokens - row.input_tokens);
    expect(row).toMatchObject({
      status_code: outcome.status,
      total_tokens: billed === "seen" ? row.input_tokens + row.output_tokens : tokens[billed],
      admission: "fast",
      cache_status: "off",
      queue_wait_ms: 0,
      cost_usd: expect.closeTo(row.input_tokens * 0.001 + row.output_tokens * 0.01, 9) as number,
    });
    expect(row.total_ms).toBeGreaterThanOrEqual(row.ttft_ms);
    expect(
      Object.fromEntries(
        [...headers].filter(([name]) => !/^(date|connection|keep-alive|transfer-encoding|content-length)$/.test(name)),
      ),
    ).toEqual(headersOf(entry, outcome, row.request_id));
  });

  it("counts every attempt once", countsEveryAttempt);
}
describe.each(MODES.slice(0, 2))("%s", everyCase);
describe.each(MODES.slice(2))("%s", { tags: ["long"] }, everyCase);

/** Every header of an answer, except those of the connection. */
function headersOf(
  { behaviour }: Case,
  { status, reads, upstreamStatus }: Omit<ExpectedOutcome, "billed" | "counted">,
  requestId: string,
): Record<string, unknown> {
  const retryAfter = /retry-after=([\d.]+)/.exec(behaviour)?.[1] ?? (behaviour === "status=429" ? "7" : null);
  const events = reads === "stream" || reads === "garbage" || reads === "in-band error";
  return {
    "content-type": events ? "text/event-stream" : "application/json",
    "x-gateway-request-id": requestId,
    "x-request-id": requestId,
    "x-gateway-overhead-ms": expect.stringMatching(/^\d+$/) as string,
    ...(upstreamStatus === 0 ? {} : { "x-gateway-upstream-status": String(upstreamStatus) }),
    ...(events ? { "x-accel-buffering": "no", "cache-control": "no-cache" } : {}),
    ...(status === 200 || retryAfter === null ? {} : { "retry-after": retryAfter }),
  };
}

/** The counters are those of all modes so far. */
async function countsEveryAttempt(): Promise<void> {
  const sum: Record<string, number> = { success: 0, retry: 0, timeout: 0, failover: 0, exhausted: 0 };
  for (const entry of CASES)
    for (const mode of met)
      for (const [outcome, times] of Object.entries(expected(entry, mode).counted))
        sum[outcome] = (sum[outcome] ?? 0) + times;
  const counted = async (): Promise<Record<string, number>> => {
    const text = await (await fetch(`${stack.metricsUrl}/metrics`)).text();
    const found = text.matchAll(/^gateway_upstream_attempts_total\{outcome="(\w+)",cell="local"\} (\d+)$/gm);
    return Object.fromEntries([...found].map(([, outcome, value]) => [String(outcome), Number(value)]));
  };
  expect(await waitFor(counted, (seen) => JSON.stringify(seen) === JSON.stringify(sum)).catch(counted)).toEqual(sum);
}

describe("without settings of its own", () => {
  it("a model is served by the default upstream", async () => {
    const minted = await gateway.mint("");
    expect((await gateway.chat(minted)).status).toBe(200);
    expect(upstream.attempts(minted.mark)).toEqual({ default: 1 });
  });

  it("a model has the gateway's own timeout, also in the middle of a stream", async () => {
    const hangs = await gateway.mint(upstream.at("bad", "hang"));
    const stalls = await gateway.mint(upstream.at("bad", "stall"));
    const [answer, broken] = await Promise.all([gateway.chat(hangs), gateway.chat(stalls, { stream: true })]);
    expect({ status: answer.status, reads: readsOf(answer, await answer.text()) }).toEqual({
      status: 504,
      reads: "upstream_timeout",
    });
    expect({ status: broken.status, reads: readsOf(broken, await broken.text()) }).toEqual({
      status: 200,
      reads: "in-band error",
    });
  });
});

it.each([
  ["no server listens", { dns_ok: true, addresses: "127.0.0.1", port_open: false, error: "no connection" }],
  ["a server listens", { dns_ok: true, addresses: "127.0.0.1", port_open: true, error: null }],
  ["a server listens by name", { dns_ok: true, addresses: "", port_open: true, error: null }],
])("debug_diagnostics finds where %s, after the answer", async (where, found) => {
  const listening = upstream.at("bad", "status=500");
  const named = where.endsWith("name") ? listening.replace("127.0.0.1", "localhost") : listening;
  const address = where.startsWith("no server") ? "http://127.0.0.1:9/v1" : named;
  const minted = await gateway.mint(address, "plain", { debug_diagnostics: true });
  await gateway.must("PUT", `/keys/${minted.key.id}/tracing`, { tracing_enabled: true });
  const response = await gateway.chat(minted);
  await response.text();
  const requestId = response.headers.get("x-gateway-request-id") ?? "";
  const line = await waitFor(
    () => lines.find((entry) => entry.includes("upstream_diagnostics") && entry.includes(requestId)),
    (seen) => seen !== undefined,
  );
  expect(response.status).toBe(502);
  expect(JSON.parse(line?.slice(line.indexOf("{")) ?? "")).toMatchObject({ model: minted.model.model_name, ...found });
  const span = await waitFor(
    async () => {
      const spans = await gateway.must<readonly Span[]>("GET", `/usage/logs/${requestId}/spans`);
      return spans.find(({ span_name }) => span_name === "upstream_diagnostics");
    },
    (seen) => seen !== undefined,
  );
  const attributes: unknown = JSON.parse(span?.attributes ?? "null");
  const { addresses, ...others } = found;
  expect(attributes).toEqual({
    ...others,
    addresses: addresses === "" ? [] : [addresses],
    elapsed_ms: expect.any(Number),
  });
});
