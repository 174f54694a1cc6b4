/**
 * Exceptions to a structure rule: a list in a JSON file beside the rule, which states a reason for each entry. An entry
 * that no longer excuses anything is a finding like a broken rule, so that lists of exceptions get shorter.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One exception: the exported name, all files to which it applies, and why. */
export interface Exception {
  readonly name: string;
  /** Paths from the root of the repository. */
  readonly files: readonly string[];
  readonly reason: string;
}

/** Exceptions of a rule, from `test/lint/<rule>.json` under `root`; none when there is no such file. */
export function readExceptions(root: string, rule: string): readonly Exception[] {
  const path = join(root, "test/lint", `${rule}.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Exception[]) : [];
}

/** Findings about the list itself: entries without a reason. */
export function unreasoned(rule: string, exceptions: readonly Exception[]): readonly string[] {
  return exceptions
    .filter(({ reason }) => reason.trim() === "")
    .map(({ name }) => `${rule}.json: the entry of ${name} states no reason`);
}

/** Prints the findings of a rule that runs as a program, and sets the exit code to 1 when there are any. */
export function report(rule: string, findings: readonly string[]): void {
  process.stdout.write([...findings, `${rule}: ${findings.length} findings`, ""].join("\n"));
  process.exitCode = findings.length === 0 ? 0 : 1;
}
