/**
 * Reads the data of server-sent events (WHATWG HTML, "Server-sent events") from bytes that may be split anywhere. Names, ids
 * and comments are skipped. Every character is examined a fixed number of times, and the memory for an unfinished event is
 * bounded.
 */

export class EventReader {
  readonly #maxCharacters: number;
  readonly #decoder = new TextDecoder();
  /** Parts of the line that has not ended. */
  #line: string[] = [];
  /** Lines of data of the event that has not ended. */
  #data: string[] = [];
  #heldCharacters = 0;
  #afterCr = false;
  #overflowed = false;

  /** `maxCharacters`: the most that one event may have. */
  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters;
  }

  /** True once an event had more than it may have: nothing is read any more then. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** The data of each event that these bytes complete, in order. */
  push(chunk: Uint8Array): readonly string[] {
    return this.#read(this.#decoder.decode(chunk, { stream: true }));
  }

  /** The data of an event that lacks its blank line at the end of the stream: upstreams forget it after `[DONE]`. */
  finish(): readonly string[] {
    return this.#read(`${this.#decoder.decode()}\n\n`);
  }

  #read(text: string): readonly string[] {
    const events: string[] = [];
    let from = 0;
    let lf = text.indexOf("\n");
    let cr = text.indexOf("\r");
    if (text !== "") {
      if (this.#afterCr && lf === 0) from = 1;
      this.#afterCr = false;
    }
    while (!this.#overflowed) {
      if (lf !== -1 && lf < from) lf = text.indexOf("\n", from);
      if (cr !== -1 && cr < from) cr = text.indexOf("\r", from);
      if (lf === -1 && cr === -1) break;
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
      this.#endLine(text.slice(from, end), events);
      from = end + 1;
      if (end !== cr) continue;
      if (from === text.length) this.#afterCr = true;
      else if (from === lf) from += 1;
    }
    if (!this.#overflowed && from < text.length) this.#hold(this.#line, text.slice(from));
    return events;
  }

  #endLine(last: string, events: string[]): void {
    const line = this.#line.length === 0 ? last : this.#line.join("") + last;
    for (const part of this.#line) this.#heldCharacters -= part.length;
    this.#line = [];
    if (line === "") {
      if (this.#data.length > 0) events.push(this.#data.join("\n"));
      this.#data = [];
      this.#heldCharacters = 0;
    } else if (line.startsWith("data:")) this.#hold(this.#data, line.slice(line[5] === " " ? 6 : 5));
    else if (line === "data") this.#hold(this.#data, "");
  }

  #hold(list: string[], text: string): void {
    // one for the list's own entry, so that very many empty lines are bounded too
    this.#heldCharacters += text.length + (list === this.#data ? 1 : 0);
    list.push(text);
    if (this.#heldCharacters <= this.#maxCharacters) return;
    this.#overflowed = true;
    this.#line = [];
    this.#data = [];
  }
}

/** One event whose data is this text. */
export function dataEvent(data: string): string {
  return `data: ${data.replaceAll("\n", "\ndata: ")}\n\n`;
}
