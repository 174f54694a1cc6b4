/** Where a document of JSON ends whose bytes come in pieces. That it is valid is not checked. */
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../../../../shared/wire/ascii.ts";

export class DocumentEnd {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #reached = false;

  /** Whether the object or list that the bytes began with has been closed. */
  get reached(): boolean {
    return this.#reached;
  }

  push(bytes: Uint8Array): void {
    for (const byte of bytes)
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = this.#inString;
      else if (byte === QUOTE) this.#inString = !this.#inString;
      else if (!this.#inString) this.#note(byte);
  }

  #note(byte: number): void {
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#depth -= 1;
      this.#reached ||= this.#depth === 0;
    }
  }
}
