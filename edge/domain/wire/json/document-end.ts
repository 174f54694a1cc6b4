/** Where a document of JSON ends whose bytes come in pieces. That it is valid is not checked. */
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CR,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TAB,
} from "../../../../shared/wire/ascii.ts";
import { nameTable } from "../bytes/name-table.ts";
import { JsonStringReader, StringUse } from "./string-reader.ts";

const NO_NAMES = nameTable({});

export class DocumentEnd {
  readonly #string = new JsonStringReader(NO_NAMES);
  #depth = 0;
  #closed = false;
  /** Something follows the document. */
  #followed = false;

  /** Whether the object or list at the start of the bytes has been closed, with only blanks after it. */
  get reached(): boolean {
    return this.#closed && !this.#followed;
  }

  push(bytes: Uint8Array): void {
    const to = bytes.byteLength;
    const string = this.#string;
    let depth = this.#depth;
    for (let at = 0; at < to && !this.#followed; ) {
      if (string.open) {
        at = string.push(bytes, at, to);
        continue;
      }
      const byte = bytes[at];
      at += 1;
      if (this.#closed) this.#followed = byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB;
      else if (byte === QUOTE) string.begin(StringUse.Nothing);
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth -= 1;
        this.#closed = depth === 0;
      }
    }
    this.#depth = depth;
  }
}
