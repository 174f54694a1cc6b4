/**
 * What the parts of the stack write to their logs from now on, as the operator of one machine sees it. Reads only what has
 * come since it looked last: all spec tests write to one file.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { waitFor } from "./wait-for.ts";

export type LogLine = Readonly<Record<string, unknown>>;

export class StackLog {
  readonly #file: string;
  readonly #chunks: string[] = [];
  #at: number;

  constructor(file: string) {
    this.#file = file;
    this.#at = statSync(file).size;
  }

  /** Everything since the beginning, each line with the name of its part in front. */
  text(): string {
    const { size } = statSync(this.#file);
    if (size > this.#at) {
      const bytes = Buffer.alloc(size - this.#at);
      const file = openSync(this.#file, "r");
      const read = readSync(file, bytes, 0, bytes.byteLength, this.#at);
      closeSync(file);
      this.#at += read;
      this.#chunks.push(bytes.toString("latin1", 0, read));
    }
    return this.#chunks.join("");
  }

  /** The one line of the Worker's log that tells of a request's end, once it is there. */
  async request(requestId: string | null): Promise<LogLine> {
    const mentions = (line: string): boolean =>
      line.startsWith('workerd | {"level"') && line.includes('"event":"request"') && line.includes(String(requestId));
    const found = await waitFor(
      () => this.text().split("\n").slice(0, -1).filter(mentions),
      (lines) => lines.length > 0,
    );
    if (found.length > 1) throw new Error(`request ${requestId} has ${found.length} lines`);
    return JSON.parse((found[0] as string).slice("workerd | ".length)) as LogLine;
  }
}
