/** Brings the database up to date at the start of a process; the database may become ready a little later. */
import { rootCause } from "../../shared/text/root-cause.ts";
import { type Connection, connect, embeddedFolder } from "../db/connect.ts";
import { migrate } from "../db/migrate.ts";
import { EnvError } from "../kernel/env-field.ts";
import type { Logger } from "../kernel/log.ts";
import { failureLevel } from "../kernel/store-watch.ts";
import { systemProblem } from "../kernel/system-problem.ts";
import { innermost } from "./start-error.ts";

const TRIES = 10;
const WAIT_MS = 2000;

/** Opens the database. Throws DatabaseLocked, and EnvError if the folder of an embedded one cannot be used. */
export async function openDatabase(...to: Parameters<typeof connect>): Promise<Connection> {
  try {
    return await connect(...to);
  } catch (error) {
    const [folder, problem] = [embeddedFolder(to[0]), systemProblem(error)];
    if (folder === "" || problem === null) throw error;
    throw new EnvError(`GATEWAY_DATABASE_URL: the folder ${folder} cannot be used: ${problem}`);
  }
}

/** Applies the migrations that are missing. Throws what the database refuses, and its last failure to answer. */
export async function migrateWithRetries(connection: Connection, log: Logger): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const applied = await migrate(connection);
      if (applied.length > 0) log.info({ event: "migrated", applied });
      return;
    } catch (error) {
      if (isRefusal(error) || attempt >= TRIES) throw error;
      log[failureLevel(error)]({ event: "database_not_ready", attempt, reason: rootCause(error) });
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
  }
}

/**
 * True when the database answered with a refusal, so that trying again changes nothing. Classes 08, 53 and 57 are errors of
 * a database that is starting, stopping or overloaded.
 */
function isRefusal(error: unknown): boolean {
  const cause = innermost(error);
  const { code } = cause as { code?: unknown };
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return !/^(08|53|57)/.test(code);
  return cause.message.startsWith("migration");
}
