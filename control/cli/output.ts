/**
 * Output: tables and records for people, JSON for scripts. Control characters in names and messages are shown and never
 * reach the terminal as commands.
 */
import Table from "cli-table3";
import { printableJson, terminalText } from "../../shared/text/printable.ts";

type Row = Readonly<Record<string, unknown>>;

const PLAIN = {
  style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": 2 },
  chars: Object.fromEntries(
    ["top", "bottom", "mid", "left", "right", "middle"]
      .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
      .map((name) => [name, ""]),
  ),
};

/** A table with a header; one line when it has no rows. */
export function printTable(rows: readonly Row[], columns: readonly string[]): void {
  if (rows.length === 0) return void process.stdout.write("nothing to show\n");
  const table = new Table({ ...PLAIN, head: [...columns] });
  table.push(...rows.map((row) => columns.map((column) => shown(row[column]))));
  write(table);
}

/** One record, one line per field. */
export function printRecord(record: Row): void {
  const table = new Table(PLAIN);
  table.push(...Object.entries(record).map(([field, value]) => [terminalText(field), shown(value)]));
  write(table);
}

/** The warnings of a write, one line each, on standard error: a script reads only the record. */
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
