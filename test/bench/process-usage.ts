/**
 * What a process has used, by the kernel's account of it: CPU time of all its threads and the peak of its resident memory.
 * Linux only; elsewhere every answer is null and the bench says so.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

let ticks: number | null | undefined;

/** The kernel's clock ticks a second; null where there is no such account. */
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
  // fields after the name, which may hold anything but ends with the last bracket
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / perSecond;
}

function statusMb(pid: number, field: string): number | null {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(read(pid, "status") ?? "")?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

/** Resident memory now, MiB. */
export const memoryMbOf = (pid: number): number | null => statusMb(pid, "VmRSS");

/** The most resident memory since the start or since {@link forgetPeak}, MiB. */
export const peakMbOf = (pid: number): number | null => statusMb(pid, "VmHWM");

/** Counts the peak from now on. Where the kernel does not allow it, the peak stays that since the start. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // an older kernel, or none that has it
  }
}
