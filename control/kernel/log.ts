/**
 * The control service's log: JSON lines on stderr. What the list of secrets names is in none of them, as a field or within a
 * text (shared/redaction.ts), nor is a raw control character (shared/printable.ts).
 */
import { type DestinationStream, type Logger, pino } from "pino";
import { printableJson } from "../../shared/printable.ts";
import { CENSORED, censored, SECRET_FIELDS } from "../../shared/redaction.ts";

/** A field of this name at the top of a line, and one level below. */
const REDACTED = SECRET_FIELDS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]);

/** A logger; stdout stays free for the line that tells the launcher where the service listens. */
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
