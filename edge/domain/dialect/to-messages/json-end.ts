import type { Steps } from "../../../../shared/steps.ts";

const STEP_CHARACTERS = 4096;

/** Whether a text that comes in pieces is a whole object or list of JSON by now. Only brackets and strings are looked at. */
export class JsonEnd {
  #depth = 0;
  #started = false;
  #inString = false;
  #escaped = false;

  get isWhole(): boolean {
    return this.#started && this.#depth === 0;
  }

  *push(text: string): Steps<void> {
    for (let at = 0; at < text.length; at += STEP_CHARACTERS) {
      const piece = text.slice(at, at + STEP_CHARACTERS);
      this.#push(piece);
      yield piece.length;
    }
  }

  #push(text: string): void {
    for (const character of text) {
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString) {
        if (character === "\\") this.#escaped = true;
        else if (character === '"') this.#inString = false;
      } else if (character === '"') this.#inString = true;
      else if (character === "{" || character === "[") {
        this.#started = true;
        this.#depth += 1;
      } else if (character === "}" || character === "]") this.#depth -= 1;
    }
  }
}
