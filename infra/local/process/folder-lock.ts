/**
 * One owner for each folder: the embedded parts destroy data when two of them open the same files. The lock names every
 * process that may use the folder (the launcher and its children), each with its start time so that another process with a
 * reused pid is not mistaken for it. A lock whose processes are all dead is taken over; while only children of a dead
 * launcher live, the new launcher waits.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { processStart } from "../../../control/db/process-start.mjs";

const NAME = "lock";
const WAIT_FOR_CHILDREN_MS = 5_000;

/** A held lock. */
export interface FolderLock {
  /** Adds a process that uses the folder. */
  addHolder(pid: number): void;
  /** Removes a process that has ended. */
  removeHolder(pid: number): void;
  /** Releases the lock. */
  release(): void;
}

/** The folder is in use; the message is one line for the operator. */
export class FolderLocked extends Error {
  override readonly name = "FolderLocked";
}

type Holders = Record<string, string>;

function readHolders(path: string): Holders | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? (value as Holders) : {};
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : {};
  }
}

const living = (holders: Holders) => Object.keys(holders).filter((pid) => processStart(Number(pid)) === holders[pid]);

/**
 * Writes a file beside the lock, which becomes the lock in one step. Follows no link that another user has put at its
 * place.
 */
function writeDraft(path: string, holders: Holders): string {
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, JSON.stringify(holders), { flag: "wx", mode: 0o600 });
  return draft;
}

/** Creates the lock with its content in one step; false when there is one already. */
function create(path: string, holders: Holders): boolean {
  const draft = writeDraft(path, holders);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Moves away and deletes a lock without a living holder. Another launcher may do the same at this moment: when the moved
 * lock turns out to be its new lock, it is put back.
 */
function discard(path: string): void {
  const stalePath = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, stalePath);
  } catch {
    return;
  }
  if (living(readHolders(stalePath) ?? {}).length > 0) {
    try {
      linkSync(stalePath, path);
    } catch {
      // A third launcher holds the lock now.
    }
  }
  rmSync(stalePath, { force: true });
}

/** Takes the lock of a folder, which is made when missing. Throws FolderLocked while a living process holds it. */
export async function lockFolder(folder: string, waitMs = WAIT_FOR_CHILDREN_MS): Promise<FolderLock> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, NAME);
  const holders: Holders = { [process.pid]: processStart(process.pid) ?? "" };
  const deadline = Date.now() + waitMs;
  while (!create(path, holders)) {
    const found = readHolders(path) ?? {};
    const alive = living(found);
    if (alive.length === 0) {
      discard(path);
      continue;
    }
    // The first holder is the launcher; its children end soon after it.
    const launcher = Object.keys(found)[0] ?? "";
    if (alive.includes(launcher) || Date.now() >= deadline) {
      throw new FolderLocked(
        `the folder ${folder} is in use by process ${alive.includes(launcher) ? launcher : alive.join(", ")}; stop it, or set another folder`,
      );
    }
    await delay(50);
  }
  const update = () => renameSync(writeDraft(path, holders), path);
  return {
    addHolder: (pid) => {
      const start = processStart(pid);
      if (start === undefined) return;
      holders[pid] = start;
      update();
    },
    removeHolder: (pid) => {
      delete holders[pid];
      update();
    },
    release: () => rmSync(path, { force: true }),
  };
}
