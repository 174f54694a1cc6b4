/**
 * Two cells on one machine: two Workers that differ in GATEWAY_CELL and share the objects
 * (docs/rules/configuration.md#cells, docs/rules/budgets.md#leases). Each cell has its own slots; budgets, keys and
 * configuration are shared.
 * @module-tag check
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { type Exposition, readExposition, scrapeWith } from "../harness/exposition.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { SPECIFIED_METRICS, shownMetrics, specifiedMetrics } from "../harness/specified-metrics.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const CELLS = ["local", "second"] as const;

let stack: Stack;
let upstream: TestUpstream;
/** The gateway, reached through each cell. */
let by: Readonly<Record<(typeof CELLS)[number], Gateway>>;

beforeAll(async () => {
  upstream = await startTestUpstream();
  stack = await startTestStack({}, { moreCells: ["second"] });
  const at = (cell: string): Gateway => new Gateway({ ...stack, proxyUrl: stack.cellUrls.get(cell) ?? "" });
  by = { local: at("local"), second: at("second") };
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

const loadOf = async (cell: string) =>
  await by.local.must<{ in_flight: number; queued: number; max_in_flight: number }>("GET", `/stats?cell=${cell}`);

/** Sends requests of a tenant, every other one through the second cell; returns the status of each. */
async function statusesOf(minted: Minted, count: number, output: number): Promise<readonly number[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const response = await (at % 2 === 0 ? by.local : by.second).chat(minted, { body: { max_tokens: output } });
      await response.text();
      return response.status;
    }),
  );
}

const countOf = (answers: readonly number[], status: number): number =>
  answers.filter((answer) => answer === status).length;

const scrape = async (): Promise<Exposition> => await readExposition(await scrapeWith(CELLS, stack.metricsUrl));

/** The figures of a cell in a scrape. */
function figures(seen: Exposition, cell: string) {
  const of = (name: string, labels = {}) => seen.value(`gateway_${name}`, { ...labels, cell }) ?? 0;
  return {
    served: of("requests_total", { admission: "fast", status: "2xx" }),
    refused: of("requests_total", { admission: "rejected", status: "4xx" }),
    input: of("input_tokens_total"),
    output: of("output_tokens_total"),
    hits: of("cache_lookups_total", { result: "hit" }),
    misses: of("cache_lookups_total", { result: "miss" }),
    saved: of("cache_tokens_saved_total"),
    answered: of("upstream_attempts_total", { outcome: "success" }),
    unknownServers: of("mcp_requests_total", { server: "unknown", status: "4xx" }),
    measured: seen.histogram("gateway_ttft_ms", { cell })?.count ?? 0,
    timed: seen.histogram("gateway_total_ms", { cell })?.count ?? 0,
  };
}

/** Sends one request of each kind through a cell; returns how many of them found no stored answer. */
async function everyKind(cell: (typeof CELLS)[number]): Promise<number> {
  const gateway = by[cell];
  const minted = await gateway.mint(upstream.url, "plain", { cache_enabled: true });
  let misses = 0;
  await waitFor(
    async () => {
      const response = await gateway.chat(minted);
      await response.text();
      if (response.headers.get("x-gateway-cache") === "miss") misses += 1;
      return response.headers.get("x-gateway-cache");
    },
    (cache) => cache === "hit",
  );
  await (await gateway.chat(minted, { stream: true })).text();
  await (await gateway.chat({ ...minted, secret: `sk_${"0".repeat(48)}` })).text();
  const headers = { authorization: `Bearer ${minted.secret}` };
  await (await fetch(`${gateway.proxyUrl}/mcp/nobody`, { method: "POST", headers, body: "{}" })).text();
  return misses + 1;
}

// The first one, because a request is counted after it was answered: one of an earlier test would be counted within this one.
describe("the metrics of two cells", () => {
  it("are the documented ones, of both cells, as an independent reader sees them", async () => {
    const before = await scrape();
    const misses = { local: await everyKind("local"), second: await everyKind("second") };
    const expected = CELLS.map((cell) => {
      const was = figures(before, cell);
      const count = misses[cell];
      return {
        served: was.served + count + 1,
        refused: was.refused + 2,
        input: was.input + 11 * (count + 1),
        output: was.output + 22 * (count + 1),
        hits: was.hits + 1,
        misses: was.misses + count,
        saved: was.saved + 33,
        answered: was.answered + count,
        unknownServers: was.unknownServers + 1,
        measured: was.measured + count,
        timed: was.timed + count + 1,
      };
    });
    const seen = await waitFor(scrape, (now) =>
      CELLS.every((cell, at) => {
        const { served = 0, refused = 0, unknownServers = 0 } = expected[at] ?? {};
        const is = figures(now, cell);
        return is.served >= served && is.refused >= refused && is.unknownServers >= unknownServers;
      }),
    );
    expect(CELLS.map((cell) => figures(seen, cell))).toEqual(expected);
    expect(seen.faults).toEqual([]);
    expect(shownMetrics(seen, CELLS)).toEqual(specifiedMetrics(["gateway_mcp_requests_total"], CELLS));
    for (const { name, bounds } of SPECIFIED_METRICS.filter((metric) => metric.bounds !== undefined))
      for (const cell of CELLS)
        expect(Object.keys(seen.histogram(name, { cell })?.buckets ?? {})).toEqual(
          [...(bounds ?? []), "+Inf"].map(String),
        );
    expect(seen.value("process_start_time_seconds", {})).toBeGreaterThan(0);
    expect(seen.value("nodejs_eventloop_lag_seconds", {})).toBeGreaterThanOrEqual(0);
    const ready = await fetch(`${stack.metricsUrl}/ready`);
    expect({ status: ready.status, body: await ready.text() }).toEqual({ status: 200, body: "ready" });
  });
});

describe("two cells", () => {
  it("have slots of their own", async () => {
    const minted = await by.local.mint(upstream.url, "stall");
    await by.local.must("PUT", "/capacity?cell=local", { max_in_flight: 2 });
    await by.local.must("PUT", "/capacity?cell=second", { max_in_flight: 3 });
    const leaving = new AbortController();
    const clients = CELLS.flatMap((cell) =>
      Array.from({ length: 6 }, async () => {
        const response = await by[cell].chat(minted, { stream: true, signal: leaving.signal });
        await response.text();
      }),
    );
    for (const client of clients) client.catch(() => undefined);
    const load = await waitFor(
      async () => [await loadOf("local"), await loadOf("second")],
      (seen) => seen.every(({ in_flight, queued }) => in_flight + queued === 6),
    );
    expect(load).toMatchObject([
      { in_flight: 2, queued: 4, max_in_flight: 2 },
      { in_flight: 3, queued: 3, max_in_flight: 3 },
    ]);
    await waitFor(
      () => upstream.seen(minted.mark).length,
      (seen) => seen === 5,
    );
    leaving.abort();
    await Promise.allSettled(clients);
    await waitFor(
      async () => [await loadOf("local"), await loadOf("second")],
      (seen) => seen.every(({ in_flight, queued }) => in_flight + queued === 0),
    );
    for (const cell of CELLS) await by.local.must("PUT", `/capacity?cell=${cell}`, { max_in_flight: null });
    const rows = await waitFor(
      async () => await by.local.rows(minted.tenant.id),
      (found) => found.length >= 12,
    );
    expect(CELLS.map((cell) => rows.filter((row) => row.cell === cell).length)).toEqual([6, 6]);
  });

  it("share the requests per minute of a tenant and of a key", async () => {
    for (const whose of ["tenant", "key"] as const) {
      const minted = await by.local.mint(upstream.url);
      const limit = { requests_per_minute: 30 };
      const startedMs = Date.now();
      if (whose === "key") await by.local.must("PUT", `/keys/${minted.key.id}`, limit);
      else await by.local.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 0, ...limit });
      const answers = await Promise.all(
        Array.from({ length: 100 }, async (_, at) => {
          const response = await (at % 2 === 0 ? by.local : by.second).chat(minted);
          await response.body?.cancel();
          return response.status;
        }),
      );
      expect(countOf(answers, 200) + countOf(answers, 429)).toBe(100);
      expect(countOf(answers, 200)).toBeGreaterThanOrEqual(30);
      // One more is refilled every two seconds.
      expect(countOf(answers, 200)).toBeLessThanOrEqual(Math.floor(30 + (Date.now() - startedMs) / 2_000));
    }
  });

  it("share a tenant's tokens per minute", async () => {
    // No actual usage is settled before the last answer has arrived.
    const minted = await by.local.mint(upstream.url, "stall");
    await by.local.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 6000 });
    const output = 106 - (await fillerOf());
    const leaving = new AbortController();
    const startedMs = Date.now();
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, at) => {
        const gateway = at % 2 === 0 ? by.local : by.second;
        const body = { max_tokens: output };
        return await gateway.chat(minted, { stream: true, body, signal: leaving.signal });
      }),
    );
    // The bucket gains a hundred tokens each second.
    const tokens = 6000 + (Date.now() - startedMs) / 10;
    const statuses = answers.map((response) => response.status);
    expect(countOf(statuses, 200) + countOf(statuses, 429)).toBe(200);
    expect(countOf(statuses, 200)).toBeGreaterThanOrEqual(56);
    expect(countOf(statuses, 200)).toBeLessThanOrEqual(Math.floor(tokens / 106));
    leaving.abort();
    const rows = await waitFor(
      async () => await by.local.rows(minted.tenant.id),
      (found) => found.length >= 200,
    );
    const admitted = rows.filter((row) => row.status_code !== 429);
    expect(admitted).toHaveLength(countOf(statuses, 200));
  });

  it("share a tenant's term budget", async () => {
    const minted = await by.local.mint(upstream.url, "delay=20");
    await by.local.must("PATCH", `/tenants/${minted.tenant.id}/budget`, {
      budget_tokens: 500,
      budget_cost_usd: null,
      budget_period: "lifetime",
    });
    let served = 0;
    const last: number[] = [];
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        for (;;) {
          // The upstream reports 33 tokens, less than the estimate.
          const answers = await statusesOf(minted, 2, 40);
          served += countOf(answers, 200);
          const refused = answers.filter((answer) => answer !== 200);
          last.push(...refused);
          if (refused.length > 0) return;
        }
      }),
    );
    expect(new Set(last)).toEqual(new Set([403]));
    const rows = await waitFor(
      async () => await by.local.rows(minted.tenant.id, "&status=success"),
      (found) => found.length >= served,
    );
    const used = rows.reduce((sum, row) => sum + row.total_tokens, 0);
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThanOrEqual(
      500 + Math.max(...rows.map((row) => Math.max(row.total_tokens, row.estimated_tokens))),
    );
  });

  it("receive a change alike", async () => {
    const minted = await by.local.mint(upstream.url);
    expect(await statusesOf(minted, 4, 5)).toEqual([200, 200, 200, 200]);
    await by.local.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    expect(await statusesOf(minted, 4, 5)).toEqual([403, 403, 403, 403]);
  });
});

/** The estimate of a request without its output, of a tenant that only this test has. */
async function fillerOf(): Promise<number> {
  const minted = await by.local.mint(upstream.url);
  const response = await by.local.chat(minted, { body: { max_tokens: 1 } });
  await response.text();
  return (await by.local.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).estimated_tokens - 1;
}
