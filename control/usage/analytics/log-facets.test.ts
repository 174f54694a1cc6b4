/**
 * Counts of a log over time and by value, against the real engine (docs/rules/usage-reads.md#facets).
 *
 * @module-tag long
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UsageLogFacets } from "../../../shared/schema/log-facets.ts";
import type { UsageLog, UsageLogTotals } from "../../../shared/schema/usage.ts";
import { NIL_UUID, type UsageRow } from "../../../shared/usage/usage-row.ts";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../../test/harness/control.ts";
import { ledgerRow, TENANT, TestLedger } from "../../../test/harness/ledger.ts";
import { OTHER_TENANT } from "../../../test/harness/ledger-traffic.ts";
import { userCredential } from "../../api/guard.ts";
import { bucketWidthMs } from "./log-facets.ts";

const ledger = new TestLedger();
ledger.use();
let control: TestControl;
const NOW = Date.now();
const HOUR_MS = 3_600_000;
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
const valuesOf = ({ facets }: UsageLogFacets, wanted: string) =>
  Object.fromEntries(
    facets.find(({ facet }) => facet === wanted)?.values.map(({ value, requests }) => [value, requests]) ?? [],
  );

const ENDS = {
  success: { status_code: 200 },
  refused: { status_code: 429, error_code: "rate_limit_exceeded" },
  failed: { status_code: 502, error_code: "upstream_unreachable", attempts: 1 },
  upstreams: { status_code: 502, attempts: 1, upstream_status: 500 },
  left: { status_code: 499, error_code: "client_gone" },
} as const satisfies Record<string, Partial<UsageRow>>;
const row = (change: Partial<UsageRow>, ageMs = HOUR_MS): UsageRow =>
  ledgerRow(NOW - ageMs, { request_id: randomUUID(), status_code: 200, ...change });

describe("the facets of a log", () => {
  it("count what each value would list with the other filters, for any log and filter", async () => {
    const end = fc.constantFrom(...Object.values(ENDS));
    const model = fc.constantFrom("a", "b", "c");
    const tenant_id = fc.constantFrom(TENANT, OTHER_TENANT, NIL_UUID);
    const request_type = fc.constantFrom("chat" as const, "embedding" as const, "health_probe" as const);
    const one = fc.tuple(
      end,
      fc.record({ model, tenant_id, request_type }),
      fc.integer({ min: 1, max: DAY_MS - HOUR_MS }),
    );
    const filter = fc.record(
      { status: fc.constantFrom("success", "refused", "failed", "left"), model, tenant_id, request_type },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 20 }), filter, async (rows, asked) => {
        await ledger.run(`TRUNCATE TABLE ${ledger.db}.usage_raw`);
        await ledger.insert(rows.map(([ended, change, ageMs]) => row({ ...ended, ...change }, ageMs)));
        const counted = await get<UsageLogFacets>(`/facets?${new URLSearchParams(asked).toString()}`);
        for (const { facet, values } of counted.facets)
          for (const { value, requests } of values) {
            const query = new URLSearchParams({ ...asked, [facet]: value }).toString();
            const list = await get<readonly UsageLog[]>(`?${query}&limit=200`);
            expect({ facet, value, requests }).toEqual({ facet, value, requests: list.length });
          }
        const list = await get<readonly UsageLog[]>(`?${new URLSearchParams(asked).toString()}&limit=200`);
        const inBuckets = counted.buckets.map(({ bucket_ms: start, requests }) => ({ start, requests }));
        const starts = list.map(({ ts_ms }) => Math.floor(ts_ms / counted.bucket_ms) * counted.bucket_ms);
        expect(inBuckets).toEqual(
          [...new Set(starts)]
            .sort((a, b) => a - b)
            .map((start) => ({ start, requests: starts.filter((other) => other === start).length })),
        );
      }),
      { numRuns: 15 },
    );
  });

  it("set refused, failed and left apart in each bucket, as the totals do", async () => {
    await ledger.insert([
      ...Object.values(ENDS).map((end) => row(end)),
      row(ENDS.refused),
      row(ENDS.failed, 5 * HOUR_MS),
      row({ error_code: "upstream_stream_error" }, 5 * HOUR_MS),
    ]);
    const counted = await get<UsageLogFacets>("/facets");
    const { requests, refused_requests, failed_requests, left_requests } = await get<UsageLogTotals>("/totals");
    const sum = (name: "requests" | "refused_requests" | "failed_requests" | "left_requests"): number =>
      counted.buckets.reduce((all, bucket) => all + bucket[name], 0);
    const sums = { requests, refused_requests, failed_requests, left_requests };
    expect({
      requests: sum("requests"),
      refused_requests: sum("refused_requests"),
      failed_requests: sum("failed_requests"),
      left_requests: sum("left_requests"),
    }).toEqual(sums);
    expect(sums).toEqual({ requests: 8, refused_requests: 2, failed_requests: 4, left_requests: 1 });
    // a stream that broke off is listed by both filters
    expect(valuesOf(counted, "status")).toEqual({ success: 2, refused: 2, failed: 4, left: 1 });
    expect(valuesOf(counted, "error_code")).toEqual({
      upstream_unreachable: 2,
      rate_limit_exceeded: 2,
      upstream_error: 1,
      upstream_stream_error: 1,
      client_gone: 1,
    });
    expect({ widthMs: counted.bucket_ms, lastsMs: counted.to_ms - counted.from_ms }).toEqual({
      widthMs: HOUR_MS / 4,
      lastsMs: DAY_MS,
    });
  });

  it("have the ten largest values with names of tenants and keys, and say that there are more", async () => {
    const { id } = await control.must<{ id: string }>("POST", "/tenants", { name: "Named" });
    await ledger.insert(
      Array.from({ length: 12 }, (_, at) =>
        Array.from({ length: at + 1 }, () => row({ model: `m${at}`, tenant_id: id })),
      ).flat(),
    );
    const { facets } = await get<UsageLogFacets>("/facets");
    const [model, tenant] = ["model", "tenant_id"].map((wanted) => facets.find(({ facet }) => facet === wanted));
    expect({ first: model?.values[0], count: model?.values.length, hasMore: model?.has_more }).toEqual({
      first: { value: "m11", name: "", requests: 12 },
      count: 10,
      hasMore: true,
    });
    expect(tenant).toEqual({
      facet: "tenant_id",
      values: [{ value: id, name: "Named", requests: 78 }],
      has_more: false,
    });
  });

  it("of a tenant's person count nothing of another tenant, whatever is asked", async () => {
    await ledger.insert([row({ model: "own" }), row({ model: "other", tenant_id: OTHER_TENANT })]);
    for (const asked of [
      "",
      `?tenant_id=${TENANT}`,
      `?tenant_id=${OTHER_TENANT}`,
      "?model=other&status=success&request_type=chat",
    ]) {
      const response = await control.app.request(`/api/v1/usage/logs/facets${asked}`, {
        headers: { authorization: userCredential(TENANT, ADMIN_TOKEN) },
      });
      const text = await response.text();
      expect({ asked, isOther: /"other"|tenant_id/.test(text), isAnswer: text.includes('"own"') }).toEqual({
        asked,
        isOther: false,
        isAnswer: true,
      });
    }
  });
});

it.each([
  [1, 1000],
  [100_000, 1000],
  [101_000, 2000],
  [HOUR_MS, 60_000],
  [DAY_MS, HOUR_MS / 4],
  [30 * DAY_MS, DAY_MS / 2],
  [400 * DAY_MS, 4 * DAY_MS],
])("a period of %i ms has buckets of %i ms", (lastsMs, widthMs) => {
  expect(bucketWidthMs(lastsMs)).toBe(widthMs);
});
