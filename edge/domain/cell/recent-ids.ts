/** More requests than can end while a call is on its way. */
const KEPT = 10_000;

/** The latest requests whose end a Cell has seen: a message about one of them that comes late, or again, is recognised. */
export class RecentIds {
  readonly #ids = new Set<string>();
  /** Iterator at the oldest id. It is kept, because a new one would walk past all deleted ids. */
  readonly #oldest = this.#ids.values();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** False when the id is known already. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > KEPT) this.#ids.delete(this.#oldest.next().value ?? "");
    return true;
  }
}

/** Something about the newest requests, by id; the oldest are forgotten first. */
export class NewestById<T> extends Map<string, T> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(id: string, value: T): this {
    super.set(id, value);
    const [oldest = id] = this.keys();
    if (this.size > this.#max) this.delete(oldest);
    return this;
  }

  /** Forgets it too. */
  take(id: string): T | null {
    const value = this.get(id) ?? null;
    this.delete(id);
    return value;
  }
}
