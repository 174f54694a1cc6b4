/**
 * The Worker's log: one JSON line per event on the platform's console, in the form of the control service's own (level,
 * time, event). Callers pass plain facts; bodies, credentials and upstream errors never get here, and what the list of
 * secrets names is taken out of every line (shared/redaction.ts), and no raw control character stays in one.
 */
import { printableJson } from "../../shared/printable.ts";
import { censored, loggable } from "../../shared/redaction.ts";
import type { Log, LogFields } from "../ports.ts";

/** As pino numbers them. */
export const LOG_LEVELS = { info: 30, warn: 40, error: 50 } as const;

export const consoleLog: Log = {
  event(name, fields, level = "warn") {
    consoleWrite(logLine(name, fields, LOG_LEVELS[level], new Date().toISOString()));
  },
};

/** Writes a line, or several, as it is: without its last end of line. */
export function consoleWrite(text: string): void {
  console.log(text);
}

/** A line without its end. `time`: ISO 8601. */
export function logLine(event: string, fields: LogFields, level: number, time: string): string {
  return printableJson(censored(JSON.stringify({ level, time, event, ...loggable(fields) })));
}
