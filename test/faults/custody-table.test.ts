/**
 * The table of custody: whatever the analytics store does under load, every completed request has its row once, in the raw
 * ledger and in the rollup, and rows are shipped in order (design §6, decisions §23.5).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import type { DailyUsage } from "../../shared/schema/usage-reads.ts";
import { type FaultyStore, type InsertFault, startFaultyStore } from "../harness/faulty-store.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

interface Line {
  readonly fault: string;
  readonly clients: number;
  readonly requests: number;
  readonly failedInserts: number;
  readonly rowsExpected: number;
  readonly rowsFound: number;
  readonly doubled: number;
  readonly inRollup: number;
}

const CLIENTS = 8;
const REQUESTS = 160;
const table: Line[] = [];
let folder: string;
let upstream: TestUpstream;
let store: FaultyStore;
let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-custody-"));
  upstream = await startTestUpstream();
  store = await startFaultyStore(join(folder, "clickhouse"));
  const env = { GATEWAY_CLICKHOUSE_URL: store.url, GATEWAY_CLICKHOUSE_PASSWORD: store.password };
  stack = await startStack({ env: stackEnv(join(folder, "data"), env) });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await store.close();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(`\n${tableText(table)}\n`);
});

function tableText(lines: readonly Line[]): string {
  const names = Object.keys(lines[0] ?? {}) as (keyof Line)[];
  const rows = [names, ...lines.map((line) => names.map((name) => String(line[name])))];
  const widths = names.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  return rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ")).join("\n");
}

/** Load under a fault that ends with the load; then everything has to arrive. */
async function underFault(name: string, begin: () => Promise<void>, end: () => Promise<void>): Promise<void> {
  const minted = await gateway.mint(upstream.url);
  const failedBefore = store.faults;
  await begin();
  let left = REQUESTS;
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const response = await gateway.chat(minted, { stream: left % 2 === 0 });
      await response.text();
      expect(response.status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  if (name !== "none")
    await waitFor(
      () => store.faults,
      (met) => met > failedBefore,
      60_000,
    );
  await end();
  const counted = await waitFor(
    async () => await gateway.countRows(minted.tenant.id),
    ({ rows }) => rows >= REQUESTS,
    90_000,
  );
  // The store shows the rows of an insert before it has carried them into the rollup.
  const inRollup = await waitFor(
    async () => {
      const path = `/usage/daily?tenant_id=${minted.tenant.id}&group_by=tenant`;
      return (await gateway.must<DailyUsage[]>("GET", path))[0]?.requests ?? 0;
    },
    (requests) => requests >= REQUESTS,
    30_000,
  );
  table.push({
    fault: name,
    clients: CLIENTS,
    requests: REQUESTS,
    failedInserts: store.faults - failedBefore,
    rowsExpected: REQUESTS,
    rowsFound: counted.requests,
    doubled: counted.rows - counted.requests,
    inRollup,
  });
  expect(table.at(-1)).toMatchObject({ rowsFound: REQUESTS, doubled: 0, inRollup: REQUESTS });
}

describe("every completed request has its row once, while the analytics store", () => {
  it.each(["none", "slow", "refused", "cut after commit", "no answer"] as const)("has the fault: %s", async (fault) => {
    const set = (value: InsertFault) => async (): Promise<void> => {
      store.fault = value;
    };
    await underFault(fault, set(fault), set("none"));
  });

  it("has no room on its disk", async () => {
    const free = (bytes: number) => async (): Promise<void> =>
      await store.run(`ALTER TABLE gateway.usage_raw MODIFY SETTING min_free_disk_bytes_to_perform_insert = ${bytes}`);
    await underFault("disk full", free(Number.MAX_SAFE_INTEGER), free(0));
  });

  it("and ships in order", () => {
    const numbers = store.tokens.map((token) => token.split(/\D+/).filter(Boolean).map(Number));
    const sorted = [...numbers].sort((a, b) => {
      for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
        const difference = (a[at] ?? 0) - (b[at] ?? 0);
        if (difference !== 0) return difference;
      }
      return 0;
    });
    expect(numbers.length).toBeGreaterThan(5);
    expect(numbers).toEqual(sorted);
  });
});
