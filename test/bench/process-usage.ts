/**
 * What a process has used, from the kernel's accounts: CPU time of all its threads and the peak of its resident memory.
 * Linux only; elsewhere every result is null and the bench reports that.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

let ticks: number | null | undefined;

/** The kernel's clock ticks per second; null where the system has no such value. */
function ticksPerSecond(): number | null {
  if (ticks === undefined) {
    try {
      ticks = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
    } catch {
      ticks = null;
    }
  }
  return ticks;
}

function read(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return null;
  }
}

/** CPU time that the process has used so far, in user and kernel mode, ms. */
export function cpuMsOf(pid: number): number | null {
  const perSecond = ticksPerSecond();
  const stat = read(pid, "stat");
  if (stat === null || perSecond === null) return null;
  // The fields after the name. The name may contain any character and ends with the last bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / perSecond;
}

/** The peak of resident memory since the start or since {@link forgetPeak}, MiB. */
export function peakMbOf(pid: number): number | null {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(read(pid, "status") ?? "")?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

/** Measures the peak from now on. Where the kernel does not allow that, the peak remains the one since the start. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // The kernel is too old, or has no such file.
  }
}
