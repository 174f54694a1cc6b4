/**
 * Lets only one process open an embedded database: PGlite has no lock of its own, and two processes on one folder destroy
 * it. The lock file names its holder by process id and start time. A lock whose holder has ended is taken over.
 */
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { processStart } from "./process-start.mjs";

/** The folder of an embedded database is in use by another process. */
export class DatabaseLocked extends Error {
  override readonly name = "DatabaseLocked";
}

/** Takes the lock of a folder; returns a function that releases it. Throws DatabaseLocked. */
export function lockDatabase(folder: string): () => void {
  const file = `${folder.replace(/\/+$/, "")}.lock`;
  const draft = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true });
  // a link that another user has put there in a shared folder is not followed
  rmSync(draft, { force: true });
  writeFileSync(draft, `${process.pid} ${processStart(process.pid) ?? ""}`, { flag: "wx", mode: 0o600 });
  try {
    for (;;) {
      try {
        linkSync(draft, file);
        return () => rmSync(file, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        const [pid, start] = readFileSync(file, "utf8").split(" ");
        if (start !== undefined && processStart(Number(pid)) === start) {
          throw new DatabaseLocked(
            `the database folder ${folder} is in use by process ${pid}; stop it, or set another folder`,
          );
        }
        rmSync(file, { force: true });
      }
    }
  } finally {
    rmSync(draft, { force: true });
  }
}
