/**
 * Requests that went another way than their session knows of, the latest: with a permit of their own before the Cell was told
 * that they had taken a slot, or with a row that was sent past their session. What the session still tells of them must not
 * make a second seat or a second row.
 */

/** More than all sessions may have under way. */
const KEPT = 10_000;

export class Elsewhere {
  readonly #ways = new Map<string, "permit" | "row">();

  add(requestId: string, way: "permit" | "row"): void {
    this.#ways.set(requestId, way);
    const [oldest] = this.#ways.size > KEPT ? this.#ways.keys() : [];
    if (oldest !== undefined) this.#ways.delete(oldest);
  }

  /** Which way it went last; undefined: none that is known. */
  wayOf(requestId: string): "permit" | "row" | undefined {
    return this.#ways.get(requestId);
  }
}
