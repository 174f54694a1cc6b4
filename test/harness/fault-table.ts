/**
 * The table that the fault suite prints at its end: for each fault the load during it, the number of rows that the ledger
 * must have, and the number that it has. Test files run in several processes, so the lines are passed on in a
 * file.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";
import { makeTemplate } from "./database-template.ts";
import { plainTable } from "./text-table.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly faultTable: string;
  }
}

/** What happened to the rows of one fault. */
interface FaultLine {
  readonly fault: string;
  readonly clients: number;
  readonly requests: number;
  /** Requests that must have a row: answered in full, not within the second before a kill, and not refused or dropped. */
  readonly rowsExpected: number;
  readonly rowsFound: number;
  /** Rows of a request that has one already. */
  readonly doubled: number;
  /** Rows that do not say what became of their request, where that was compared. */
  readonly wrong?: number;
  /** Requests that the rollup counts, less those that the raw ledger has. */
  readonly rollupOff: number;
  /** Tokens that the budget of the tenant counts, less those of its rows, where that was compared. */
  readonly budgetOff?: number;
  /** Rows that were dropped because there was no room, as the gateway counts them. */
  readonly dropped: number;
  /** Rows that the store refuses and the gateway keeps as dead letters. */
  readonly deadLetters: number;
  /** The time from a kill until the clients that waited for the killed process were served, in ms. */
  readonly servedAfterMs?: number | undefined;
}

export function reportFault(line: FaultLine): void {
  appendFileSync(inject("faultTable"), `${JSON.stringify(line)}\n`);
}

/** Creates the file of the table; returns the function that prints the table. @exported Vitest calls it. */
export async function setup(project: TestProject): Promise<() => void> {
  await makeTemplate();
  const folder = mkdtempSync(join(tmpdir(), "gateway-fault-table-"));
  const path = join(folder, "lines");
  writeFileSync(path, "");
  project.provide("faultTable", path);
  return () => {
    const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
    rmSync(folder, { recursive: true, force: true });
    if (lines.length > 0) process.stdout.write(`\n${tableText(lines.map((line) => JSON.parse(line) as FaultLine))}\n`);
  };
}

/** The columns by their heads. */
const COLUMNS = {
  fault: "fault",
  clients: "clients",
  requests: "requests",
  "rows expected": "rowsExpected",
  "rows found": "rowsFound",
  doubled: "doubled",
  wrong: "wrong",
  "rollup off": "rollupOff",
  "budget off": "budgetOff",
  dropped: "dropped",
  "dead letters": "deadLetters",
  "waiters served, ms": "servedAfterMs",
} as const satisfies Readonly<Record<string, keyof FaultLine>>;

function tableText(lines: readonly FaultLine[]): string {
  const fields = Object.values(COLUMNS);
  return plainTable([Object.keys(COLUMNS), ...lines.map((line) => fields.map((field) => line[field] ?? ""))]);
}
