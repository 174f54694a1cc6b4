/**
 * The Worker's log: one JSON line per event on the platform's console, in the same form as the control service's log
 * (level, time, event). Callers pass plain facts, never bodies, credentials or upstream errors. Secrets of the known list
 * are removed from every line (shared/text/redaction.ts), and raw control characters are escaped.
 */
import { printableJson } from "../../shared/text/printable.ts";
import { censored, loggable } from "../../shared/text/redaction.ts";
import type { Clock, Log, LogFields } from "../ports.ts";

/** Numbers as pino uses them. */
const LOG_LEVELS = { info: 30, warn: 40, error: 50 } as const;

/** Once this many lines wait, they are written at once. */
const LINES_MAX = 256;
/** A flush that is this late will not come, because its request was cut off. */
const LOST_MS = 1_000;
/** Above the rate, one of so many is written. */
const ONE_OF = 100;

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

interface BufferedLogOptions {
  /** A line waits at most this long for others. */
  readonly gatherMs: number;
  readonly clock: Clock;
  readonly later: (delayMs: number, run: () => void) => void;
  /** Keeps the request alive that started to wait, until the flush. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  /** Writes one line or several, given without the last line end. */
  readonly write: (text: string) => void;
}

/**
 * A log that writes the lines of ordinary events together: where the console is a pipe that a supervisor reads, each write
 * costs more than the line. Warnings and errors are written at once, after the lines that wait, so that the order is kept.
 * A line never waits longer than `gatherMs`, and logging never delays the caller.
 */
export class BufferedLog implements Log {
  readonly #options: BufferedLogOptions;
  #lines: string[] = [];
  #flushesMs: number | null = null;

  constructor(options: BufferedLogOptions) {
    this.#options = options;
  }

  event(...[name, fields, level = "warn"]: Parameters<Log["event"]>): void {
    const nowMs = this.#options.clock();
    this.#lines.push(logLine(name, fields, LOG_LEVELS[level], new Date(nowMs).toISOString()));
    if (level !== "info" || this.#lines.length >= LINES_MAX) this.#flush();
    else if (this.#flushesMs === null || nowMs > this.#flushesMs + LOST_MS) this.#flushLater(nowMs);
  }

  #flushLater(nowMs: number): void {
    const { gatherMs, later, keepAlive } = this.#options;
    this.#flushesMs = nowMs + gatherMs;
    const flushed = Promise.withResolvers<void>();
    keepAlive(flushed.promise);
    later(gatherMs, () => {
      this.#flush();
      this.#flushesMs = null;
      flushed.resolve();
    });
  }

  #flush(): void {
    const lines = this.#lines;
    this.#lines = [];
    if (lines.length > 0) this.#options.write(lines.join("\n"));
  }
}

/**
 * A log that leaves out lines of requests while there are many of them (docs/watch.md#logs): above a rate, 99 of 100
 * lines of requests that succeeded. The next line that is written says how many were left out before it, so that the sum
 * over the lines stays the number of requests. Lines of failures and of other events are always written.
 */
export class SampledLog implements Log {
  readonly #inner: Log;
  readonly #clock: Clock;
  readonly #perSecond: number;
  #second = 0;
  /** Requests of this second, and those without a line since the last one. */
  #requests = 0;
  #leftOut = 0;

  constructor(inner: Log, clock: Clock, perSecond: number) {
    this.#inner = inner;
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  event(...[name, fields, level]: Parameters<Log["event"]>): void {
    if (name !== "request") {
      this.#inner.event(name, fields, level);
      return;
    }
    const second = Math.floor(this.#clock() / 1_000);
    if (second !== this.#second) this.#requests = 0;
    this.#second = second;
    this.#requests += 1;
    if (this.#requests > this.#perSecond && this.#leftOut < ONE_OF - 1 && Number(fields["status"]) < 400) {
      this.#leftOut += 1;
      return;
    }
    this.#inner.event(name, { ...fields, sampled: this.#leftOut || undefined }, level);
    this.#leftOut = 0;
  }
}
