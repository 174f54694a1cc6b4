/**
 * A Cell counts the rows that its Ledger has taken, and no others, however requests are lost and their rows handed in
 * (docs/rules/metrics.md#counting).
 *
 * @module-tag check
 */
import { env } from "cloudflare:test";
import { expect, it } from "vitest";
import type { Settlement } from "../../edge/domain/admission/rpc.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import type { Permit } from "../../edge/ports.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import type { CellMetrics } from "../../shared/wire/internal.ts";
import { waitFor } from "../harness/wait-for.ts";
import { rowFor } from "./admission-messages.ts";
import { ObjectIsolate } from "./exchange-isolate.ts";
import { rowsOnDisk } from "./ledger-world.ts";

const { CELL, LEDGER } = env as unknown as {
  CELL: DurableObjectNamespace<CellObject>;
  LEDGER: DurableObjectNamespace<LedgerObject>;
};

/** What the counters say, and what rows say; of labels only those that are counted. */
type Counted = Readonly<Record<string, number>>;

function byMetrics({ families }: CellMetrics): Counted {
  const shown = families.flatMap(({ name, samples }) =>
    samples.map(({ suffix, labels, value }) => [`${name}${suffix} ${Object.values(labels).join(" ")}`.trim(), value]),
  );
  return Object.fromEntries(shown) as Counted;
}

function byRows(rows: readonly UsageRow[]): Counted {
  const sum = (pick: (row: UsageRow) => number): number => rows.reduce((all, row) => all + pick(row), 0);
  const number = (is: (row: UsageRow) => boolean): number => rows.filter(is).length;
  const classes = ["fast", "queued", "rejected", "boon"].flatMap((admission) =>
    [2, 3, 4, 5].map((status) => [
      `gateway_requests_total ${admission} ${status}xx`,
      number((row) => row.admission === admission && Math.floor(row.status_code / 100) === status),
    ]),
  );
  const served = rows.filter(({ upstream_status }) => upstream_status >= 200 && upstream_status < 300);
  const admitted = rows.filter(({ admission }) => admission !== "rejected");
  return {
    ...(Object.fromEntries(classes) as Counted),
    gateway_input_tokens_total: sum((row) => row.input_tokens),
    gateway_output_tokens_total: sum((row) => row.output_tokens),
    "gateway_cache_lookups_total hit": number((row) => row.cache_status === "hit"),
    "gateway_cache_lookups_total miss": number((row) => row.cache_status === "miss"),
    gateway_cache_tokens_saved_total: sum((row) => (row.cache_status === "hit" ? row.total_tokens : 0)),
    gateway_ttft_ms_count: served.length,
    gateway_ttft_ms_sum: served.reduce((all, row) => all + row.ttft_ms, 0),
    gateway_total_ms_count: admitted.length,
    gateway_total_ms_sum: admitted.reduce((all, row) => all + row.total_ms, 0),
  };
}

/** Resolves when every request has its row, and the counters are those of the rows. */
async function expectCounted(cell: string, requests: readonly string[]): Promise<void> {
  const rows = (await waitFor(
    async () => await rowsOnDisk(cell),
    ({ length }) => length >= requests.length,
  )) as unknown as readonly UsageRow[];
  expect(rows.map(({ request_id }) => request_id).sort()).toEqual([...requests].sort());
  const expected = byRows(rows);
  const total = (counted: Counted): number =>
    Object.entries(counted).reduce((all, [name, value]) => all + (name.startsWith("gateway_requests") ? value : 0), 0);
  const counted = await waitFor(
    async () => byMetrics(await CELL.getByName(cell).metrics()),
    (found) => total(found) >= requests.length,
  );
  expect(Object.fromEntries(Object.keys(expected).map((name) => [name, counted[name]]))).toEqual(expected);
}

/** How a request ended: its true row, when somebody is left to hand it in. */
function endOf(request: string, at: number): Settlement {
  const failed = at % 3 === 0;
  const row = rowFor(request, {
    admission: "fast",
    status_code: failed ? 502 : 200,
    upstream_status: failed ? 502 : 200,
    cache_status: at % 2 === 0 ? "miss" : "off",
    input_tokens: failed ? 0 : 3,
    output_tokens: failed ? 0 : 5 + at,
    total_tokens: failed ? 0 : 8 + at,
    ttft_ms: 20,
    total_ms: 100 + at,
  });
  return { row, actualTokens: row.total_tokens };
}

it("in whatever way requests end, are lost, and come again", async () => {
  const name = "ends";
  const cell = CELL.getByName(name);
  const ledger = LEDGER.getByName(`${name}:0`);
  await cell.setCapacity(1000);
  const WAYS: readonly ((permit: Permit, end: Settlement) => Promise<unknown>)[] = [
    async (permit, end) => await permit.settle(end),
    // lost, and its Worker lives on: it hands its row in again
    async (permit, { row }) => {
      permit.leave();
      await cell.settleOrphan(row);
    },
    async (permit, { row }) => {
      const handedIn = cell.settleOrphan(row);
      permit.leave();
      await handedIn;
    },
    // both rows of it reach the Ledger in one batch
    async (permit, { row }) => {
      const lost = { ...row, status_code: 499, output_tokens: 515 };
      await Promise.all([cell.settleOrphan(lost), cell.settleOrphan(row)]);
      permit.leave();
    },
    async (permit) => permit.leave(),
    // its Worker found no Cell
    async (permit, { row }) => {
      await ledger.appendOrphan({ ...row, cell: name });
      permit.leave();
    },
    async (permit, end) => {
      await ledger.appendOrphan({ ...end.row, cell: name });
      await permit.settle(end);
    },
    async (permit, end) => {
      const settled = permit.settle(end);
      await ledger.appendOrphan({ ...end.row, cell: name, output_tokens: 1000 });
      await settled;
    },
  ];
  const isolate = new ObjectIsolate(name);
  const running = await Promise.all(Array.from({ length: 10 * WAYS.length }, async () => await isolate.begin()));
  await Promise.all(
    running.map(
      async ({ request, permit }, at) => await WAYS[at % WAYS.length]?.(permit, endOf(request.requestId, at)),
    ),
  );
  await isolate.load(0);
  const others = Array.from({ length: 4 }, () => crypto.randomUUID());
  const [refused = "", limited = "", hit = "", missed = ""] = others;
  await cell.record(rowFor(refused, { admission: "rejected", status_code: 429 }));
  await cell.record(rowFor(limited, { admission: "rejected", status_code: 503 }));
  await cell.record(
    rowFor(hit, { admission: "fast", cache_status: "hit", input_tokens: 3, output_tokens: 4, total_tokens: 7 }),
  );
  await cell.settleOrphan(rowFor(missed, { admission: "queued", status_code: 499, cache_status: "miss" }));
  await expectCounted(name, [...isolate.admitted, ...others]);
});
