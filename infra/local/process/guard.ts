/**
 * The last one out: a process in a session of its own that reads `+pid` and `-pid` lines from the launcher. When that pipe
 * closes, however the launcher ended, it kills (SIGKILL) every process still on its list, and itself ends. A negative pid
 * stands for a process group.
 */
import { createInterface } from "node:readline";

const pids = new Set<number>();

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const pid = Number(line.slice(1));
    if (!Number.isSafeInteger(pid) || Math.abs(pid) < 2) return;
    if (line.startsWith("+")) pids.add(pid);
    else pids.delete(pid);
  })
  .once("close", () => {
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // already gone
      }
    }
    process.exit(0);
  });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
