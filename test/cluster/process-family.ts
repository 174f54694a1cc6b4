/**
 * The processes of an instance: its launcher, and what that has started, each in a process group of its own (Linux). Nothing is
 * awaited between reading and using the ids.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The launcher first. */
function familyOf(launcher: number): readonly number[] {
  const parents = parentsOfAll();
  return [launcher, ...[...parents.keys()].filter((pid) => pid !== launcher && isOf(pid, launcher, parents))];
}

/** Sends a signal to all of them. */
export function signalFamily(launcher: number, signal: NodeJS.Signals): void {
  for (const pid of familyOf(launcher)) orNothing(() => process.kill(pid, signal));
}

/** The one of the launchers whose family has the socket on this port of loopback; null: none of them. */
export function launcherOf(port: number, launchers: ReadonlySet<number>): number | null {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const line = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .find((each) => each.trim().split(/\s+/)[1] === local);
  const socket = `socket:[${line?.trim().split(/\s+/)[9]}]`;
  return [...launchers].find((launcher) => familyOf(launcher).some((pid) => filesOf(pid).includes(socket))) ?? null;
}

function isOf(pid: number, launcher: number, parents: ReadonlyMap<number, number>): boolean {
  for (let at: number | undefined = pid; at !== undefined; at = parents.get(at)) if (at === launcher) return true;
  return false;
}

function parentsOfAll(): ReadonlyMap<number, number> {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return new Map(
    pids.flatMap((pid) => {
      // After the name in parentheses: state, parent.
      const stat = orNothing(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
      return stat.map((text) => [Number(pid), Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1])] as const);
    }),
  );
}

function filesOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return orNothing(() => readdirSync(folder)).flatMap((names) =>
    names.flatMap((name) => orNothing(() => readlinkSync(`${folder}/${name}`))),
  );
}

/** What is done with a process; nothing, if it, or its file, is gone meanwhile. */
function orNothing<T>(work: () => T): readonly T[] {
  try {
    return [work()];
  } catch {
    return [];
  }
}
