/**
 * The cost of reads over much traffic, in rows that the real engine reads; and sums that come from the rollup equal the
 * sums of single requests. `npm run bench:reads` does the same over ten million requests.
 *
 * @module-tag long
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UsageLog, UsageLogTotals } from "../../../shared/schema/usage.ts";
import type { KeySummary, UsageTotals } from "../../../shared/schema/usage-reads.ts";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { type FilledControl, startFilledControl } from "../../../test/harness/filled-control.ts";
import { type Fill, filledKey, filledTenant } from "../../../test/harness/ledger-fill.ts";
import { ledgerReads, pageAt } from "../../../test/harness/ledger-reads.ts";
import { DAY_MS } from "../../../test/harness/ledger-traffic.ts";

const FILL: Fill = { rows: 200_000, days: 12, tenants: 60, keysEach: 5, models: 12, endMs: Date.now() };

let folder: string;
let control: FilledControl;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "read-budgets-"));
  control = await startFilledControl(folder, FILL);
});
afterAll(async () => {
  await control.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("over 200,000 requests", () => {
  it("every read stays within its budget of rows", async () => {
    const over: unknown[] = [];
    for (const { name, path, budgetRows } of ledgerReads(control.stored, [1])) {
      const { status, rowsRead } = await control.get(path);
      if (status !== 200 || rowsRead > budgetRows) over.push({ name, status, rowsRead, budgetRows });
    }
    expect(over).toEqual([]);
  });

  it("page 1 and page 1,000 of the log stay within the same budget", async () => {
    for (const page of [await pageAt(control, 1), await pageAt(control, 1000)]) {
      const { status, body, rowsRead } = await control.get(page.path);
      expect({ status, rowCount: (body as readonly UsageLog[]).length }).toEqual({ status: 200, rowCount: 50 });
      expect(rowsRead).toBeLessThanOrEqual(page.budgetRows);
      expect(page.budgetRows).toBeLessThan(FILL.rows / 5);
    }
  });

  it("a page has the same rows as when all rows are sorted", async () => {
    const page = await pageAt(control, 700);
    const { body } = await control.get(page.path);
    const expected = await control.rows<{ id: string }>(
      `SELECT toString(r.request_id) AS id FROM gateway.usage_raw AS r
       WHERE request_type NOT IN ('health_probe', 'benchmark')
       ORDER BY ts DESC, toString(r.request_id) DESC LIMIT 50 OFFSET ${699 * 50}`,
    );
    expect((body as readonly UsageLog[]).map(({ request_id }) => request_id)).toEqual(expected.map(({ id }) => id));
  });
});

describe("sums of whole days from the rollup", () => {
  it("equal those of the single requests, whatever the period", async () => {
    const instant = fc.integer({ min: FILL.endMs - (FILL.days + 2) * DAY_MS, max: FILL.endMs + DAY_MS });
    const groups = { tenant: "tenant_id", key: "key_id", model: "model" } as const;
    const group = fc.constantFrom(...(["tenant", "key", "model"] as const));
    await fc.assert(
      fc.asyncProperty(instant, instant, group, fc.boolean(), async (one, other, by, ofOne) => {
        const [since, until] = [Math.min(one, other), Math.max(one, other)];
        const whose = ofOne ? `&tenant_id=${filledTenant(5)}` : "";
        const { body } = await control.get(
          `/usage?group_by=${by}&since_ms=${since}&until_ms=${until}&limit=10000${whose}`,
        );
        const expected = await control.rows<{ id: string; requests: number; tokens: number }>(
          `SELECT toString(r.${groups[by]}) AS id, count() AS requests, sum(r.total_tokens) AS tokens
           FROM gateway.usage_raw AS r
           WHERE request_type NOT IN ('health_probe', 'benchmark')
             AND tenant_id != toUUID('00000000-0000-0000-0000-000000000000')
             AND ts BETWEEN fromUnixTimestamp64Milli(toInt64(${since})) AND fromUnixTimestamp64Milli(toInt64(${until}))
             ${ofOne ? `AND tenant_id = '${filledTenant(5)}'` : ""} GROUP BY id`,
        );
        const answered = (body as readonly UsageTotals[]).map((row) => [
          row[groups[by]],
          [row.requests, row.total_tokens],
        ]);
        expect(new Map(answered as [string, number[]][])).toEqual(
          new Map(expected.map((row) => [row.id, [row.requests, row.tokens]])),
        );
      }),
      { numRuns: 12 },
    );
  });

  it("are those of the log that has the same filter, whatever the period", async () => {
    const instant = fc.integer({ min: FILL.endMs - (FILL.days + 2) * DAY_MS, max: FILL.endMs + DAY_MS });
    const whose = fc.constantFrom(
      ["", "true"],
      [`tenant_id=${filledTenant(5)}`, `tenant_id = '${filledTenant(5)}'`],
      [`key_id=${filledKey(FILL, 2, 1)}`, `key_id = '${filledKey(FILL, 2, 1)}'`],
      [`tenant_id=${NIL_UUID}`, `tenant_id = '${NIL_UUID}'`],
      ["model=model-2", "model = 'model-2'"],
      ["status=error", "status_code >= 400"],
    );
    await fc.assert(
      fc.asyncProperty(instant, instant, whose, fc.boolean(), async (one, other, [query, condition], internal) => {
        const [since, until] = [Math.min(one, other), Math.max(one, other)];
        const { body } = await control.get(
          `/usage/logs/totals?since_ms=${since}&until_ms=${until}${internal ? "&include_internal=true" : ""}&${query}`,
        );
        const [expected] = await control.rows<UsageLogTotals>(
          `SELECT count() AS requests, countIf(status_code >= 400) AS errors, sum(input_tokens) AS input_tokens,
             sum(output_tokens) AS output_tokens, sum(total_tokens) AS total_tokens
           FROM gateway.usage_raw
           WHERE (${internal} OR request_type NOT IN ('health_probe', 'benchmark')) AND ${condition}
             AND ts BETWEEN fromUnixTimestamp64Milli(toInt64(${since})) AND fromUnixTimestamp64Milli(toInt64(${until}))`,
        );
        expect(body).toMatchObject({ ...expected });
      }),
      { numRuns: 40 },
    );
  });

  it("come with the last request of each key, whatever the period", async () => {
    const instant = fc.integer({ min: FILL.endMs - (FILL.days + 2) * DAY_MS, max: FILL.endMs });
    await fc.assert(
      fc.asyncProperty(instant, fc.boolean(), async (since, internal) => {
        const { body } = await control.get(
          `/usage/keys/summary?since_ms=${since}&limit=10000&include_internal=${internal}`,
        );
        const expected = await control.rows<KeySummary>(
          `SELECT toString(r.key_id) AS key_id, toUnixTimestamp64Milli(max(ts)) AS last_used_ms,
             argMax(r.model, (r.ts, r.request_id)) AS last_model, argMax(r.status_code, (r.ts, r.request_id)) AS last_status_code,
             count() AS requests, sum(r.output_tokens) AS output_tokens
           FROM gateway.usage_raw AS r
           WHERE tenant_id != toUUID('00000000-0000-0000-0000-000000000000')
             AND (${internal} OR request_type NOT IN ('health_probe', 'benchmark'))
             AND ts >= fromUnixTimestamp64Milli(toInt64(${since})) GROUP BY r.key_id`,
        );
        const shown = (rows: readonly KeySummary[]) =>
          new Map(
            rows.map((row) => [
              row.key_id,
              [row.last_used_ms, row.last_model, row.last_status_code, row.requests, row.output_tokens],
            ]),
          );
        expect(shown(body as readonly KeySummary[])).toEqual(shown(expected));
      }),
      { numRuns: 5 },
    );
  });
});
