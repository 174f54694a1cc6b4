/**
 * The control service's log: JSON lines on stderr, with one list of what is never printed.
 */
import { type Logger, pino } from "pino";

const REDACTED = [
  "authorization",
  "api_key",
  "auth_header",
  "secret",
  "password",
  "token",
  "*.authorization",
  "*.api_key",
  "*.auth_header",
  "*.secret",
  "*.password",
  "*.token",
];

/** A logger; stdout stays free for the line that tells the launcher where the service listens. */
export function createLog(): Logger {
  return pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths: REDACTED, censor: "[redacted]" } },
    pino.destination({ fd: 2, sync: true }),
  );
}

export type { Logger };
