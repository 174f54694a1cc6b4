/**
 * The control service's log: JSON lines on stderr. No line contains a field or a text that the list of secrets names
 * (shared/text/redaction.ts), nor a raw control character (shared/text/printable.ts).
 */
import { type DestinationStream, type Logger, pino } from "pino";
import { printableJson } from "../../shared/text/printable.ts";
import { CENSORED, censored, SECRET_FIELDS } from "../../shared/text/redaction.ts";

/** Hides fields with these names at the top of a line and one level below. */
const REDACTED = SECRET_FIELDS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]);

/** A logger that writes to stderr. Stdout is only for the line that reports to the launcher where the service listens. */
export function createLog(to: DestinationStream = pino.destination({ fd: 2, sync: true })): Logger {
  return pino(
    {
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: REDACTED, censor: CENSORED },
      hooks: { streamWrite: (line) => printableJson(censored(line)) },
    },
    to,
  );
}

export type { Logger };
