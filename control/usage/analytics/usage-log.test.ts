/**
 * One request with its trace and the choice of its model (docs/rules/auto-router.md#explanation), against the real
 * engine.
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UsageLogDetail } from "../../../shared/schema/usage-reads.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { ledgerRow, TestLedger } from "../../../test/harness/ledger.ts";
import { dropExpired } from "./retention.ts";

const ledger = new TestLedger();
ledger.use();
let control: TestControl;
const NOW = Date.now();
const DAY_MS = 86_400_000;

beforeAll(async () => {
  control = await startControl({ analytics: ledger.store });
});
afterAll(async () => {
  await control.close();
});

async function get<T>(path: string): Promise<T> {
  const response = await control.request("GET", `/api/v1/usage/logs${path}`);
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return (await response.json()) as T;
}

/** A request with these spans, by name and attributes in order of their start. */
async function requestWith(spans: readonly (readonly [name: string, attributes: string])[]): Promise<string> {
  const id = randomUUID();
  await ledger.insert([ledgerRow(NOW - 1000, { request_id: id })]);
  const start_ms = NOW - 2000;
  await ledger.insertSpans(
    spans.map(([span_name, attributes], at) => ({ request_id: id, span_name, attributes, start_ms: start_ms + at })),
  );
  return id;
}

const CHOICE = {
  chosen: "a",
  source: "heuristic",
  tags: ["math"],
  candidates: ["a", "b"],
  scores: [0.8, 0.5],
  excluded: ["c: d: unhealthy"],
};
const EXPLAINED = {
  chosen: "a",
  source: "heuristic",
  tags: ["math"],
  candidates: [
    { model: "a", score: 0.8 },
    { model: "b", score: 0.5 },
  ],
  excluded: [{ model: "c: d", condition: "unhealthy" }],
};
const choice = (changes: object = {}): string => JSON.stringify({ ...CHOICE, ...changes });

describe("one request", () => {
  it("that was not traced shows its choice, and no trace", async () => {
    const id = await requestWith([["auto_route", choice()]]);
    const log = await get<UsageLogDetail>(`/${id}`);
    expect(log).toMatchObject({ request_id: id, has_trace: false, tenant_name: "", spans: [], auto_route: EXPLAINED });
    expect(await get(`/${id}/spans`)).toEqual([]);
    expect(await get(`?request_id=${id}&traced_only=true`)).toEqual([]);
  });

  it("that was traced shows both, and of two choices the last", async () => {
    const spans = [
      ["proxy_request", "{}"],
      ["auto_route", choice()],
      ["auto_route", choice({ chosen: "b" })],
    ] as const;
    const id = await requestWith(spans);
    const log = await get<UsageLogDetail>(`/${id}`);
    expect(log.spans.map(({ span_name }) => span_name)).toEqual(spans.map(([name]) => name));
    expect({ has_trace: log.has_trace, auto_route: log.auto_route }).toEqual({
      has_trace: true,
      auto_route: { ...EXPLAINED, chosen: "b" },
    });
    expect(await get(`/${id}/spans`)).toHaveLength(3);
  });

  it.each(["{", "null", choice({ scores: "1" })])("shows no choice that cannot be read: %s", async (attributes) => {
    const id = await requestWith([["auto_route", attributes]]);
    expect(await get(`/${id}`)).toMatchObject({ auto_route: null });
  });

  it("of long ago, of the gateway's own, and of nobody is found; an unknown one is 404", async () => {
    const id = randomUUID();
    await ledger.insert([ledgerRow(NOW - 90 * 86_400_000, { request_id: id, request_type: "health_probe" })]);
    expect(await get(`/${id}`)).toMatchObject({ request_id: id, spans: [], auto_route: null });
    for (const unknown of [randomUUID(), "x"])
      expect((await control.request("GET", `/api/v1/usage/logs/${unknown}`)).status).toBe(404);
  });
});

describe("the totals of a log", () => {
  it("leave out days that the log has no requests of any more, which the rollup keeps", async () => {
    const tenant_id = randomUUID();
    const row = (daysAgo: number) => ledgerRow(NOW - daysAgo * DAY_MS, { tenant_id, total_tokens: 10 ** daysAgo });
    await ledger.insert([row(4), row(3), row(2), row(0)]);
    const since = `since_ms=${NOW - 5 * DAY_MS}&tenant_id=${tenant_id}`;
    expect(await get(`/totals?${since}`)).toMatchObject({ requests: 4, total_tokens: 11_101 });
    await dropExpired(ledger.store, 3, NOW);
    expect(await get(`/totals?${since}`)).toMatchObject({ requests: 3, total_tokens: 1101 });
    expect(await get(`?${since}`)).toHaveLength(3);
  });
});
