/**
 * The tokens that a listener accepts: the current one, and during a rotation the old one
 * (docs/rules/internal-traffic.md#internal-token). All are compared in constant time.
 */
import { createHash, timingSafeEqual } from "node:crypto";

export class AcceptedTokens {
  readonly #current: Buffer;
  readonly #old: readonly Buffer[];
  #oldUsedAt: Date | null = null;

  constructor(current: string, old: readonly string[]) {
    this.#current = digest(`Bearer ${current}`);
    this.#old = old.map((token) => digest(`Bearer ${token}`));
  }

  /** `credential`: the value of the header `authorization`. */
  accepts(credential: string): boolean {
    const given = digest(credential);
    const isOld = this.#old.filter((each) => timingSafeEqual(given, each)).length > 0;
    if (timingSafeEqual(given, this.#current)) return true;
    if (isOld) this.#oldUsedAt = new Date();
    return isOld;
  }

  /** Whether an old token is accepted, and when this process was last given it. */
  get old(): { readonly accepted: boolean; readonly usedAt: Date | null } {
    return { accepted: this.#old.length > 0, usedAt: this.#oldUsedAt };
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
