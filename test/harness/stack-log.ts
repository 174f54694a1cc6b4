/**
 * What the parts of the stack write to their logs from now on, as the operator of one machine sees it. It reads only what
 * was added since the last read, because all spec tests write to one file.
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

  /** Everything since the beginning, each line after the name of its part. */
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

  /** Lines of the Worker's log that report the end of a request and contain an id. */
  requests(id: string): readonly LogLine[] {
    const isOne = (line: string): boolean =>
      line.startsWith('workerd | {"level"') && line.includes('"event":"request"');
    const lines = this.text().split("\n").slice(0, -1);
    return lines
      .filter((line) => isOne(line) && line.includes(id))
      .map((line) => JSON.parse(line.slice("workerd | ".length)) as LogLine);
  }

  async request(id: string | null): Promise<LogLine> {
    const found = await waitFor(
      () => this.requests(String(id)),
      (lines) => lines.length > 0,
    );
    if (found.length > 1) throw new Error(`${id} has ${found.length} lines`);
    return found[0] as LogLine;
  }
}
