/** Requests that a cell has seen the end of, the latest: a word of one of them that comes late, or again, is known as such. */

/** More than end while a call may be on its way. */
const KEPT = 10_000;

export class RecentIds {
  readonly #ids = new Set<string>();
  /** At the oldest of them. Kept, because a new one would walk past all that have been deleted. */
  readonly #oldest = this.#ids.values();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** False when it is among them already. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > KEPT) this.#ids.delete(this.#oldest.next().value ?? "");
    return true;
  }
}
