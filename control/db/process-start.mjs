/**
 * When a process started: sets it apart from a later one with the same id, so that a lock of a process that is gone is
 * never taken for one that is held. Ids are used again within seconds on a busy machine. Runs on any Node.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Text that differs for another process with the same pid; undefined when there is none, or only its zombie.
 * @param {number} pid
 * @returns {string | undefined}
 */
export function processStart(pid) {
  try {
    if (process.platform === "linux") {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ");
      return fields?.[0] === "Z" ? undefined : fields?.[19];
    }
    return (
      execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", stdio: "pipe" }).trim() || undefined
    );
  } catch {
    return undefined;
  }
}
