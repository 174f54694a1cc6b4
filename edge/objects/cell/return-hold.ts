/**
 * A Cell that was reset while isolates had requests gives no slot until those isolates are back, so that what runs is counted first,
 * and what waits keeps its order (docs/rules/admission.md#reset).
 */

/**
 * An isolate may be gone too. It keeps what it holds without a session for this long (members.ts), and others wait for it this
 * long.
 */
const RETURN_MAX_MS = 2_000;

interface ReturnHoldOptions {
  readonly hold: (on: boolean) => void;
  readonly later: (delayMs: number, run: () => void) => void;
}

export class ReturnHold {
  readonly #awaited: Set<string>;
  readonly #hold: (on: boolean) => void;

  /** `members`: the isolates that had requests before the reset. */
  constructor(members: Iterable<string>, { hold, later }: ReturnHoldOptions) {
    this.#awaited = new Set(members);
    this.#hold = hold;
    if (this.#awaited.size === 0) return;
    hold(true);
    later(RETURN_MAX_MS, () => {
      if (this.#awaited.size === 0) return;
      this.#awaited.clear();
      hold(false);
    });
  }

  /** The Cell knows of every request that the isolate runs, and that waits. */
  isBack(member: string): void {
    if (this.#awaited.delete(member) && this.#awaited.size === 0) this.#hold(false);
  }
}
