/**
 * How many lines of each model are under way in each cell (docs/rules/batches.md#windows). A window grows by one with each line
 * that got its slot at once, and shrinks by one with each that had to wait: so about one line more is under way than there are
 * idle slots. A model whose upstream fails is left alone for a while.
 */
const FIRST = 2;
const MOST = 128;
/** All windows together. */
const MOST_IN_ALL = 512;
const AT_ONCE_MS = 100;
const PAUSE_FIRST_MS = 1000;
const PAUSE_MOST_MS = 30_000;

interface LineWindow {
  size: number;
  underWay: number;
  failures: number;
  pausedUntilMs: number;
}

export class LineWindows {
  readonly #windows = new Map<string, LineWindow>();
  readonly #nowMs: () => number;
  #underWay = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How many more lines of the model may be sent now. */
  room(cell: string, model: string): number {
    const { size, underWay, pausedUntilMs } = this.#of(cell, model);
    if (pausedUntilMs > this.#nowMs()) return 0;
    return Math.max(0, Math.min(size - underWay, MOST_IN_ALL - this.#underWay));
  }

  sent(cell: string, model: string): void {
    this.#of(cell, model).underWay += 1;
    this.#underWay += 1;
  }

  /** A line is over; `waitedMs`: how long it waited for a slot, null: it got none. */
  ended(cell: string, model: string, waitedMs: number | null): void {
    const window = this.#of(cell, model);
    window.underWay -= 1;
    this.#underWay -= 1;
    if (waitedMs === null) return;
    window.size = waitedMs <= AT_ONCE_MS ? Math.min(MOST, window.size + 1) : Math.max(1, window.size - 1);
    window.failures = 0;
    window.pausedUntilMs = 0;
  }

  /** Nothing came of a line that may do better later. */
  failed(cell: string, model: string, retryAfterMs: number | null): void {
    const window = this.#of(cell, model);
    const nowMs = this.#nowMs();
    if (window.pausedUntilMs > nowMs) return;
    const pauseMs = Math.min(PAUSE_MOST_MS, retryAfterMs ?? PAUSE_FIRST_MS * 2 ** window.failures);
    window.failures += 1;
    window.size = 1;
    window.pausedUntilMs = nowMs + pauseMs;
  }

  #of(cell: string, model: string): LineWindow {
    const name = JSON.stringify([cell, model]);
    const known = this.#windows.get(name);
    if (known !== undefined) return known;
    const window = { size: FIRST, underWay: 0, failures: 0, pausedUntilMs: 0 };
    this.#windows.set(name, window);
    return window;
  }
}
