/**
 * Output: tables and records for people, JSON for scripts. What names and messages hold is shown and never acted upon by the
 * terminal.
 */
import Table from "cli-table3";
import { printableJson, terminalText } from "../../shared/printable.ts";

type Row = Readonly<Record<string, unknown>>;

const PLAIN = {
  style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": 2 },
  chars: Object.fromEntries(
    ["top", "bottom", "mid", "left", "right", "middle"]
      .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
      .map((name) => [name, ""]),
  ),
};

/** A table with a head; one line where there is nothing. */
export function printTable(rows: readonly Row[], columns: readonly string[]): void {
  if (rows.length === 0) return void process.stdout.write("nothing to show\n");
  const table = new Table({ ...PLAIN, head: [...columns] });
  table.push(...rows.map((row) => columns.map((column) => shown(row[column]))));
  write(table);
}

/** One record, a line per field. */
export function printRecord(record: Row): void {
  const table = new Table(PLAIN);
  table.push(...Object.entries(record).map(([field, value]) => [terminalText(field), shown(value)]));
  write(table);
}

/** What to know of a write, a line each, beside the output: a script reads the record and nothing else. */
export function printWarnings(warnings: readonly string[]): void {
  for (const warning of warnings) process.stderr.write(`warning: ${terminalText(warning)}\n`);
}

/** Any value as JSON, indented. */
export function printJson(value: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`);
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return terminalText(typeof value === "object" ? JSON.stringify(value) : String(value as string | number | boolean));
}

function write(table: { toString(): string }): void {
  const lines = table.toString().split("\n");
  process.stdout.write(`${lines.map((line) => line.trimEnd()).join("\n")}\n`);
}
