/** The part that a start waits for, and its last line: a long start must not be silent. Pure. */
import { censored } from "../../../shared/text/redaction.ts";
import { jsonLine } from "./child.ts";

export class StartWaits {
  readonly #nowMs: () => number;
  /** Since when each is waited for. */
  readonly #since = new Map<string, number>();
  readonly #lastLines = new Map<string, string>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Notes a line of a part that the start may wait for. */
  heard(part: string, line: string): void {
    this.#lastLines.set(part, line);
  }

  /** The result of `work`, which is waited for until then. */
  async during<T>(part: string, work: Promise<T>): Promise<T> {
    this.#since.set(part, this.#nowMs());
    try {
      return await work;
    } finally {
      this.#since.delete(part);
    }
  }

  /** An event of the log for each thing that is waited for. */
  lines(): readonly string[] {
    return [...this.#since].map(([part, since]) =>
      JSON.stringify({
        event: "start_waits",
        for: part,
        secs: Math.round((this.#nowMs() - since) / 1000),
        last_line: said(this.#lastLines.get(part)),
      }),
    );
  }
}

/** A part's line as a value in another line; null without one. */
function said(line: string | undefined): string | null {
  if (line === undefined) return null;
  const { level: _level, time: _time, ...fields } = jsonLine(line) ?? {};
  return censored(Object.keys(fields).length > 0 ? JSON.stringify(fields) : line);
}
