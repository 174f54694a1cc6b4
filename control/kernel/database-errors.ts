/**
 * Reads why the database refused a statement, as the codes from which verbs choose their answer
 * (docs/rules/freshness.md#write-path).
 */
import { GatewayError } from "../../shared/errors.ts";

/**
 * Runs database work; a database that cannot be used is 503 `database_unavailable`: no connection, no access, no such database, no
 * room or too many connections, or it is stopping (SQLSTATE classes 08, 28, 3D, 53, 57).
 */
export async function withDatabaseErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const code = databaseCode(error);
    if (code === null || /^(?:08|28|3D|53|57|E[A-Z]+$)/.test(code)) {
      throw new GatewayError("database_unavailable", { cause: error });
    }
    throw error;
  }
}

/** True when the database refused a value that another row already has. */
export function isUniqueViolation(error: unknown): boolean {
  return databaseCode(error) === "23505";
}

/** True when a row refers to a row that does not exist. */
export function isForeignKeyViolation(error: unknown): boolean {
  return databaseCode(error) === "23503";
}

/**
 * SQLSTATE or errno of the innermost error, null for a lost connection. Outer messages quote the query, so they cannot be
 * used.
 */
function databaseCode(error: unknown): string | null {
  let innermost = error;
  while (innermost instanceof Error) {
    const { code } = innermost as { code?: unknown };
    if (typeof code === "string") return code;
    if (innermost.cause === undefined) break;
    innermost = innermost.cause;
  }
  if (innermost instanceof Event) return null; // the WebSocket of the driver for Neon failed
  return innermost instanceof Error && /connect|terminat|closed/i.test(innermost.message) ? null : "";
}
