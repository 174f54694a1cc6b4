/** The machine and the software of a run, for later readers of its figures. */
import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { PEER } from "./peer.ts";

const require = createRequire(import.meta.url);

export type Machine = ReturnType<typeof readMachine>;

/** Reads it; must be called before anything is started. */
export function readMachine() {
  return {
    at: new Date().toISOString(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: `${process.platform} ${release()}`,
    node: process.version,
    workerd: (require("workerd/package.json") as { version: string }).version,
    peer: PEER,
    /**
     * Processes that wanted the CPU before the run began, mean of a minute: the work of other processes makes figures
     * useless.
     */
    loadBefore: loadavg()[0] ?? 0,
  };
}
