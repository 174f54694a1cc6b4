/** Programs in Go that a step needs in one version, built by Go itself. */
import { spawnSync } from "node:child_process";

/** A program with its first arguments. */
export type ProgramCommand = readonly [program: string, ...first: string[]];

/**
 * How to call the program of a module with its version, such as `example.com/tool/cmd/tool@v1.2.3`. The first call builds it; Go
 * checks it against its public list of checksums, and caches it. Null: this machine has no Go.
 */
export function goProgram(module: string): ProgramCommand | null {
  return spawnSync("go", ["version"]).status === 0 ? ["go", "run", module] : null;
}
