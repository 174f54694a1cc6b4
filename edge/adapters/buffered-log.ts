/**
 * A log that writes the lines of ordinary events together: where the console is a pipe that a supervisor reads, each write
 * costs more than the line. Warnings and errors are written at once, after the lines that wait, so that the order is kept.
 * A line never waits longer than `gatherMs`, and logging never delays the caller.
 */
import type { Clock, Log } from "../ports.ts";
import { LOG_LEVELS, logLine } from "./console-log.ts";

/** Once this many lines wait, they are written at once. */
const LINES_MAX = 256;
/** A flush that is this late will not come, because its request was cut off. */
const LOST_MS = 1_000;

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
