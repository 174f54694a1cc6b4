/**
 * One installation of packages at a time in this folder. The lock is in the folder itself, which only its owner can write to:
 * in a folder that everybody shares another user could take it, or put something else in its place. It names its holder by pid
 * and start time; one whose holder is gone is taken over. Runs on any Node, and blocks.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processStart } from "../control/db/process-start.mjs";

const NAME = ".install-lock";
const EVERY_MS = 200;

/** @param {unknown} error */
const codeOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code;

/**
 * The running process that a lock names; undefined if nobody holds it.
 * @param {string} path
 * @returns {number | undefined}
 */
function holderOf(path) {
  try {
    const [pid, start] = readFileSync(path, "utf8").split(" ");
    return start !== undefined && processStart(Number(pid)) === start ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Creates the lock with its content in one step; false when there is one.
 * @param {string} path
 */
function create(path) {
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${process.pid} ${processStart(process.pid) ?? ""}`, { flag: "wx", mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Moves a lock aside that nobody holds. Another process may do the same, and have a new lock by now: that one is put back.
 * @param {string} path
 */
function discard(path) {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  try {
    if (holderOf(aside) !== undefined) linkSync(aside, path);
  } catch {
    // a third process holds it now
  }
  rmSync(aside, { force: true });
}

/**
 * Takes the lock of a folder; waits while a running process holds it, and reports that once. Throws the system's error when the
 * folder cannot be written to.
 * @param {string} folder
 * @param {(holder: number) => void} onWait
 * @returns {() => void} releases it
 */
export function lockInstall(folder, onWait) {
  const path = join(folder, NAME);
  for (let waited = false; !create(path); ) {
    const holder = holderOf(path);
    if (holder === undefined) {
      discard(path);
      continue;
    }
    if (!waited) onWait(holder);
    waited = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EVERY_MS);
  }
  return () => rmSync(path, { force: true });
}
