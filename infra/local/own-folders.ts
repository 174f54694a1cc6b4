/** The folders that a launcher keeps for itself: its data, and the storage of the Durable Objects when that lies elsewhere. */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ForeignEntry, isForeign, makePrivate, ownEntry } from "../../control/db/private-folder.ts";
import { systemProblem } from "../../control/kernel/system-problem.ts";
import { type StackConfig, StackEnvError } from "./env.ts";
import { type FolderLock, lockFolder } from "./process/folder-lock.ts";
import type { Undo } from "./process/running.ts";

const OF_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
const WRITABLE_BY_ALL = 0o002;
/** In a folder with this bit, such as /tmp, other users with write access still cannot replace entries of others. */
const STICKY = 0o1000;
const USABLE = constants.R_OK | constants.W_OK | constants.X_OK;

/** Makes and locks both folders; inside the data folder one lock is for both. Throws StackEnvError and FolderLocked. */
export async function lockFolders(
  { dataDir, objectsDir, objectsVariable }: Pick<StackConfig, "dataDir" | "objectsDir" | "objectsVariable">,
  undo: Undo,
): Promise<readonly [data: FolderLock, objects: FolderLock]> {
  const data = await lockedFolder("GATEWAY_DATA_DIR", dataDir, undo);
  const compiled = compileCache(dataDir);
  if (dirname(compiled) === dataDir) await inFolder("GATEWAY_DATA_DIR", dataDir, () => makePrivate(compiled));
  if (!`${objectsDir}/`.startsWith(`${dataDir}/`)) return [data, await lockedFolder(objectsVariable, objectsDir, undo)];
  await inFolder(objectsVariable, objectsDir, () => undefined, dataDir);
  return [data, data];
}

async function lockedFolder(variable: string, folder: string, undo: Undo): Promise<FolderLock> {
  return await inFolder(variable, folder, async () => {
    const lock = await lockFolder(folder);
    undo.add(() => lock.release());
    return lock;
  });
}

/**
 * Makes the folder when it is missing. `within`: the folder above it that was found to be ours. Throws StackEnvError, which names the
 * variable, if it cannot be used.
 */
async function inFolder<T>(variable: string, folder: string, use: () => T, within?: string): Promise<Awaited<T>> {
  try {
    makeFolder(folder);
    accessSync(folder, USABLE);
    if (within === undefined) refuseReplaceable(folder);
    keepToOurselves(folder);
    return await use();
  } catch (error) {
    if (error instanceof ForeignEntry) throw new StackEnvError(`${variable}: ${error.message}`);
    const problem = systemProblem(error);
    if (problem === null) throw error;
    throw new StackEnvError(`${variable}: the folder ${folder} cannot be used: ${problem}`);
  }
}

/**
 * Removes the rights of other users to a folder of ours: otherwise they could replace a file by an admin token that they know,
 * or by code. A folder of root is used unchanged: the folder of a container volume is root's, and writable for all. Throws
 * ForeignEntry for entries that they have already put there; a folder like /tmp legitimately holds such entries.
 */
function keepToOurselves(folder: string): void {
  const { uid, mode } = statSync(folder);
  if (isForeign(uid))
    throw new ForeignEntry(
      `the folder ${folder} belongs to another user (uid ${uid}): start as that user, or, if you trust its content, run chown -R ${process.getuid?.()} ${folder}`,
    );
  if ((mode & STICKY) !== 0) return;
  if (uid === process.getuid?.() && (mode & OF_OTHERS) !== 0) {
    chmodSync(folder, mode & 0o7777 & ~OF_OTHERS);
    if ((statSync(folder).mode & WRITABLE_BY_OTHERS) !== 0)
      throw new ForeignEntry(`other users can write in the folder ${folder}, which chmod does not change: use another`);
  }
  for (const name of readdirSync(folder)) ownEntry(join(folder, name));
}

/** Throws ForeignEntry if another user could put another folder in the place of this one: as its link, or in a folder above it. */
function refuseReplaceable(folder: string): void {
  for (const path of new Set([folder, realpathSync(folder)]))
    for (let at = path; at !== dirname(at); at = dirname(at)) {
      if (lstatSync(at).isSymbolicLink()) ownEntry(at);
      const above = dirname(at);
      const { mode } = statSync(above);
      if ((mode & WRITABLE_BY_ALL) !== 0 && (mode & STICKY) === 0)
        throw new ForeignEntry(`all users can replace ${at}: run chmod o-w ${above}, or use a folder elsewhere`);
    }
}

/**
 * Makes a folder and those above it. Node's own recursive mkdir tries for ever where a folder that exists takes no other, such as
 * one in /proc.
 */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/** Where Node keeps compiled modules for the next start of a part: a start takes half as long with them. */
export function compileCache(dataDir: string): string {
  return process.env["NODE_COMPILE_CACHE"] ?? join(dataDir, "compiled");
}
