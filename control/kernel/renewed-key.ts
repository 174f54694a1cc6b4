/** A key of the data plane that a process of the console makes, keeps in memory alone, and renews before its end. */

export interface HeldKey {
  readonly secret: string;
  readonly expiresAtMs: number;
}

interface RenewedKeyOptions {
  readonly renewedBeforeMs: number;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
}

export class RenewedKey {
  readonly #options: RenewedKeyOptions;
  #key: Promise<HeldKey> | null = null;

  constructor(options: RenewedKeyOptions) {
    this.#options = options;
  }

  /** Calls that come together share one key, and one making of it, by the first of them. What `makeKey` throws is thrown on. */
  async current(makeKey: () => Promise<HeldKey>): Promise<HeldKey> {
    const held = this.#key;
    if (held !== null) {
      const key = await held;
      if (key.expiresAtMs - this.#options.renewedBeforeMs > this.#options.nowMs()) return key;
      if (this.#key === held) this.#key = null;
    }
    return await (this.#key ?? this.#newKey(makeKey));
  }

  /** Makes the next call get a new key, unless another has taken its place already. */
  async forget(key: HeldKey): Promise<void> {
    const held = this.#key;
    if (held !== null && (await held.catch(() => null)) === key && this.#key === held) this.#key = null;
  }

  #newKey(makeKey: () => Promise<HeldKey>): Promise<HeldKey> {
    const making = makeKey();
    this.#key = making;
    making.catch(() => {
      if (this.#key === making) this.#key = null;
    });
    return making;
  }
}
