/**
 * The process that ends last: in its own session it reads `+pid` and `-pid` lines from the launcher. When that pipe closes, for
 * any reason, it kills (SIGKILL) every process that is still on its list, and then ends. A negative pid means a process group.
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
        // The process has already ended.
      }
    }
    process.exit(0);
  });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
