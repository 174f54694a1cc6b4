/** Sends a read several times, and prints the table of what was measured. */
import type { FilledControl, MeasuredAnswer } from "../harness/filled-control.ts";
import type { LedgerRead } from "../harness/ledger-reads.ts";
import { plainTable } from "../harness/text-table.ts";

/** A read with its answers; at the first one the engine has nothing in its memory. */
interface MeasuredRead {
  readonly read: LedgerRead;
  readonly answers: readonly MeasuredAnswer[];
  /** Whether each answer was a success and read no more rows than its budget. */
  readonly isWithin: boolean;
}

/** Sends the read `rounds` times, one after another. */
export async function measureRead(control: FilledControl, read: LedgerRead, rounds: number): Promise<MeasuredRead> {
  const answers: MeasuredAnswer[] = [];
  for (let round = 0; round < rounds; round += 1) answers.push(await control.get(read.path));
  const isWithin = answers.every(({ status, rowsRead }) => status === 200 && rowsRead <= read.budgetRows);
  return { read, answers, isWithin };
}

/** One line per read: times in ms, and the most rows and megabytes that the engine read. */
export function readTable(measured: readonly MeasuredRead[]): string {
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
