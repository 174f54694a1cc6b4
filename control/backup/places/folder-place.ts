/**
 * Backups in a folder. A file gets its name when its content is on the disk, so that a process or machine that dies at any
 * moment leaves whole backups, and at most a draft that a later backup removes.
 */
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemProblem } from "../../kernel/system-problem.ts";
import { isBackupName } from "../backup-name.ts";
import { type BackupPlace, BackupPlaceError } from "./backup-place.ts";

const DRAFT = /^\.gateway-backup-.*\.draft$/;
/** No backup takes so long (schedule-table.ts): the process that wrote the draft is gone. */
const DRAFT_LEFT_MS = 3_600_000;

/** The backups in a folder, which is made when it is missing. Only its owner can read what is stored. */
export function folderPlace(folder: string): BackupPlace {
  return {
    shown: folder,
    names: async () => await told(async () => (await entriesOf(folder)).filter(isBackupName)),
    store: async (name, content, signal) =>
      await told(async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await removeLeftDrafts(folder);
        const draft = join(folder, `.${name}.${randomUUID()}.draft`);
        try {
          await writeDurably(draft, content, signal);
          await rename(draft, join(folder, name));
        } catch (error) {
          await rm(draft, { force: true });
          throw error;
        }
        await syncFolder(folder);
      }, signal),
    read: async (name, signal) => await told(async () => await readFile(join(folder, name), { signal }), signal),
    remove: async (name) => await told(async () => await rm(join(folder, name), { force: true })),
  };
}

async function writeDurably(path: string, content: Uint8Array, signal: AbortSignal): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(content, { signal });
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A new name is on the disk when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function removeLeftDrafts(folder: string): Promise<void> {
  for (const name of (await entriesOf(folder)).filter((entry) => DRAFT.test(entry))) {
    // Another gateway may just have finished its own.
    const changedMs = await ifThere(
      stat(join(folder, name)).then(({ mtimeMs }) => mtimeMs),
      Number.POSITIVE_INFINITY,
    );
    if (Date.now() - changedMs > DRAFT_LEFT_MS) await rm(join(folder, name), { force: true });
  }
}

async function entriesOf(folder: string): Promise<readonly string[]> {
  return await ifThere(readdir(folder), []);
}

/** What is asked of a file or folder, or `otherwise` when it is not there. */
async function ifThere<T>(asked: Promise<T>, otherwise: T): Promise<T> {
  return await asked.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return otherwise;
    throw error;
  });
}

async function told<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isLate = signal?.reason instanceof DOMException && signal.reason.name === "TimeoutError";
    const ended = isLate ? "the folder is too slow" : "the gateway is stopping";
    throw new BackupPlaceError(code === "ABORT_ERR" ? ended : (systemProblem(error) ?? "unknown error"));
  }
}
