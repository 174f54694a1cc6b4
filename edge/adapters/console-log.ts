/**
 * The Worker's log: one JSON line per event on the platform's console, in the same form as the control service's log
 * (level, time, event). Callers pass plain facts, never bodies, credentials or upstream errors. Secrets of the known list
 * are removed from every line (shared/text/redaction.ts), and raw control characters are escaped.
 */
import { printableJson } from "../../shared/text/printable.ts";
import { censored, loggable } from "../../shared/text/redaction.ts";
import type { Log, LogFields } from "../ports.ts";

/** Numbers as pino uses them. */
export const LOG_LEVELS = { info: 30, warn: 40, error: 50 } as const;

export const consoleLog: Log = {
  event(name, fields, level = "warn") {
    consoleWrite(logLine(name, fields, LOG_LEVELS[level], new Date().toISOString()));
  },
};

/** Writes one line or several unchanged, given without the last line end. */
export function consoleWrite(text: string): void {
  console.log(text);
}

/** A line without its line end. `time`: ISO 8601. */
export function logLine(event: string, fields: LogFields, level: number, time: string): string {
  return printableJson(censored(JSON.stringify({ level, time, event, ...loggable(fields) })));
}
