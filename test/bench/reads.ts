/**
 * `npm run bench:reads`: what every read of the Management API costs over ten million requests of ninety days, on the
 * embedded engine: the time from the side of a caller, the rows and bytes that the engine read, and the read's budget of
 * rows. The exit code is 1 when a read exceeds its budget or is refused; times are reported and not checked.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type FilledControl, type MeasuredAnswer, startFilledControl } from "../harness/filled-control.ts";
import { type LedgerRead, ledgerReads, pageAt } from "../harness/ledger-reads.ts";
import { plainTable } from "../harness/text-table.ts";

/** A read with its answers; at the first one the engine has nothing in its memory. */
interface MeasuredRead {
  readonly read: LedgerRead;
  readonly answers: readonly MeasuredAnswer[];
  /** Whether each answer was a success and read no more rows than its budget. */
  readonly isWithin: boolean;
}

/** Sends the read `rounds` times, one after another. */
async function measureRead(control: FilledControl, read: LedgerRead, rounds: number): Promise<MeasuredRead> {
  const answers: MeasuredAnswer[] = [];
  for (let round = 0; round < rounds; round += 1) answers.push(await control.get(read.path));
  const isWithin = answers.every(({ status, rowsRead }) => status === 200 && rowsRead <= read.budgetRows);
  return { read, answers, isWithin };
}

/** One line per read: times in ms, and the most rows and megabytes that the engine read. */
function readTable(measured: readonly MeasuredRead[]): string {
  const head = ["read", "answered", "p50 ms", "max ms", "rows read", "budget", "MB read", ""];
  const rows = measured.map(({ read, answers, isWithin }) => {
    const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
    const most = (field: "rowsRead" | "bytesRead"): number => Math.max(...answers.map((answer) => answer[field]));
    const [{ status, body }] = answers as [MeasuredAnswer];
    return [
      read.name,
      status === 200 ? `${Array.isArray(body) ? body.length : 1}` : `status ${status}`,
      (times[Math.floor(times.length / 2)] ?? 0).toFixed(0),
      (times.at(-1) ?? 0).toFixed(0),
      most("rowsRead").toLocaleString("en"),
      read.budgetRows.toLocaleString("en"),
      (most("bytesRead") / 1e6).toFixed(1),
      isWithin ? "" : "OVER",
    ];
  });
  return plainTable([head, ...rows]);
}

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "10000000" },
    days: { type: "string", default: "90" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
  },
});

const folder = mkdtempSync(join(tmpdir(), "gateway-bench-reads-"));
let passed = 0;
try {
  const startedMs = performance.now();
  const control = await startFilledControl(folder, {
    rows: Number(values.rows),
    days: Number(values.days),
    tenants: 300,
    keysEach: 10,
    models: 24,
    endMs: Date.now(),
  });
  try {
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
    const { rollupRows, spanRows } = control.stored;
    console.log(`${values.rows} requests, ${rollupRows} rows of rollup, ${spanRows} spans, filled in ${seconds} s`);
    const pages = [await pageAt(control, 1), await pageAt(control, 1000)];
    const reads = [...ledgerReads(control.stored, [1, 30]), ...pages].filter(({ name }) => name.includes(values.only));
    const measured = [];
    for (const read of reads) measured.push(await measureRead(control, read, Number(values.rounds)));
    console.log(readTable(measured));
    const load = loadavg().map((value) => value.toFixed(1));
    console.log(`load of this machine over 1, 5 and 15 minutes: ${load.join(", ")}`);
    passed = measured.filter(({ isWithin }) => !isWithin).length;
    console.log(passed === 0 ? "every read is within its budget of rows" : `${passed} reads are over their budget`);
  } finally {
    await control.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = passed === 0 ? 0 : 1;
