/**
 * The least that an answer of no known form contains (docs/rules/settlement-and-rows.md#what-was-seen): its texts, at any
 * place, and the token ids in its lists. Texts count by their bytes, so that nothing must be decoded.
 */
import { COMMA, SPACE } from "../../../shared/wire/ascii.ts";
import { isOfNumbers } from "../../../shared/wire/json-skip.ts";

const DOT = 0x2e;
/** `E` without regard to case. */
const LOWER_E = 0x65;
const BYTES_PER_TOKEN = 4;

export class OtherText {
  #bytes = 0;
  #ids = 0;
  /** Documents that contained some of it, and where the current one started. */
  #documents = 0;
  #beganAt = 0;
  /** Bytes of a string that is a name if a colon follows. */
  #named = 0;
  /** A number in a list has come, and not its end. */
  #number = false;

  /** Bytes of text. */
  text(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Bytes of a string that may be a name. */
  maybeName(bytes: number): void {
    this.#named += bytes;
  }

  /** That string was a name. */
  wasName(): void {
    this.#named = 0;
  }

  /** A value has ended. */
  endValue(): void {
    this.#bytes += this.#named;
    this.#named = 0;
    if (this.#number) this.#ids += 1;
    this.#number = false;
  }

  /** Reads numbers of a list, or a byte of anything else. Returns where it stopped. */
  values(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    for (; at < to && isOfNumbers(bytes[at] ?? 0); at += 1) {
      const byte = bytes[at] ?? 0;
      // the exponent of a number, or a letter of `true`, `false` or `null`
      if ((byte | 0x20) === LOWER_E && !this.#number) break;
      if (byte === COMMA) this.endValue();
      // a number with a fraction is not an id
      else if (byte === DOT) this.#ids -= 1;
      else if (byte > SPACE) this.#number = true;
    }
    if (at > from) return at;
    this.#bytes += 1;
    this.#number = false;
    return from + 1;
  }

  /** A document has ended. */
  end(): void {
    this.endValue();
    this.#documents = this.#documentsSeen();
    this.#beganAt = this.#bytes + this.#ids;
  }

  /** Token ids so far. */
  get ids(): number {
    return Math.max(0, this.#ids + (this.#number ? 1 : 0));
  }

  /** The least tokens of all that has come. */
  get tokens(): number {
    return Math.max(this.#documentsSeen(), Math.floor((this.#bytes + this.#named) / BYTES_PER_TOKEN), this.ids);
  }

  #documentsSeen(): number {
    return this.#documents + (this.#bytes + this.#ids > this.#beganAt ? 1 : 0);
  }
}
