/**
 * `npm run bench:reads`: what every read of the Management API costs over ten million requests of ninety days, on the
 * embedded engine: the time from the side of a caller, the rows and bytes that the engine read, and the read's budget of
 * rows. The exit code is 1 when a read exceeds its budget or is refused; times are reported and not checked.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startFilledControl } from "../harness/filled-control.ts";
import { pageAt } from "../harness/ledger-pages.ts";
import { ledgerReads } from "../harness/ledger-reads.ts";
import { measureRead, readTable } from "./reads-table.ts";

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
