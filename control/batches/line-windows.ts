/**
 * How many lines of each batch and model are under way in each cell (docs/rules/batches.md#windows). A window grows by one with
 * each line that got its slot at once, and shrinks by one with each that had to wait: so about one line more is under way than
 * there are idle slots. Where lines are refused or fail, the batch's model is left alone for a while, and nothing else is.
 */
const FIRST = 2;
const MOST = 128;
/** All windows together. */
const MOST_IN_ALL = 512;
/** Characters of all lines under way. */
const MOST_CHARS = 64 * 1024 * 1024;
const AT_ONCE_MS = 100;
const PAUSE_FIRST_MS = 1000;
const PAUSE_MOST_MS = 30_000;
/** A window that was not used for so long is forgotten; longer than a pause, so that failures in a row are counted. */
const IDLE_MS = 2 * PAUSE_MOST_MS;

/** The lines of a batch for one model, in one cell. */
interface LineQueue {
  readonly tenantId: string;
  readonly batchId: string;
  readonly cell: string;
  readonly model: string;
}

interface LineWindow {
  size: number;
  underWay: number;
  failures: number;
  pausedUntilMs: number;
  usedAtMs: number;
}

/** What is under way. */
interface Held {
  lines: number;
  chars: number;
}

export class LineWindows {
  readonly #windows = new Map<string, LineWindow>();
  readonly #nowMs: () => number;
  readonly #all: Held = { lines: 0, chars: 0 };
  readonly #byTenant = new Map<string, Held>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How many windows are remembered. */
  get size(): number {
    return this.#windows.size;
  }

  /** How many more lines of the queue may be sent now. */
  room(queue: LineQueue): number {
    const { size, underWay, pausedUntilMs } = this.#windows.get(nameOf(queue)) ?? fresh();
    if (pausedUntilMs > this.#nowMs()) return 0;
    return Math.max(0, Math.min(size - underWay, this.#roomOf(queue.tenantId)));
  }

  sent(queue: LineQueue, chars: number): void {
    this.#of(queue).underWay += 1;
    this.#count(queue.tenantId, 1, chars);
  }

  /** A line is over; `waitedMs`: how long it waited for a slot, null: it got none. */
  ended(queue: LineQueue, chars: number, waitedMs: number | null): void {
    const window = this.#of(queue);
    window.underWay -= 1;
    this.#count(queue.tenantId, -1, -chars);
    if (waitedMs === null) return;
    window.size = waitedMs <= AT_ONCE_MS ? Math.min(MOST, window.size + 1) : Math.max(1, window.size - 1);
    window.failures = 0;
    window.pausedUntilMs = 0;
  }

  /** Nothing came of a line that may do better later. */
  failed(queue: LineQueue, retryAfterMs: number | null): void {
    const window = this.#of(queue);
    const nowMs = this.#nowMs();
    if (window.pausedUntilMs > nowMs) return;
    const pauseMs = Math.min(PAUSE_MOST_MS, retryAfterMs ?? PAUSE_FIRST_MS * 2 ** window.failures);
    window.failures += 1;
    window.size = 1;
    window.pausedUntilMs = nowMs + pauseMs;
  }

  /** Forgets windows that are not used any more. */
  sweep(): void {
    const before = this.#nowMs() - IDLE_MS;
    for (const [name, { underWay, usedAtMs }] of this.#windows)
      if (underWay === 0 && usedAtMs < before) this.#windows.delete(name);
  }

  /** A tenant leaves as much as it takes; one that has no line under way may always send one. */
  #roomOf(tenantId: string): number {
    const own = this.#byTenant.get(tenantId);
    if (own === undefined) return this.#all.chars > MOST_CHARS ? 1 : Math.max(1, MOST_IN_ALL - this.#all.lines);
    if (own.chars + this.#all.chars > MOST_CHARS) return 0;
    return MOST_IN_ALL - this.#all.lines - own.lines;
  }

  #count(tenantId: string, lines: 1 | -1, chars: number): void {
    const own = this.#byTenant.get(tenantId) ?? { lines: 0, chars: 0 };
    this.#byTenant.set(tenantId, own);
    for (const held of [own, this.#all]) {
      held.lines += lines;
      held.chars += chars;
    }
    if (own.lines === 0) this.#byTenant.delete(tenantId);
  }

  #of(queue: LineQueue): LineWindow {
    const name = nameOf(queue);
    const window = this.#windows.get(name) ?? fresh();
    window.usedAtMs = this.#nowMs();
    this.#windows.set(name, window);
    return window;
  }
}

const nameOf = ({ batchId, cell, model }: LineQueue): string => JSON.stringify([batchId, cell, model]);

function fresh(): LineWindow {
  return { size: FIRST, underWay: 0, failures: 0, pausedUntilMs: 0, usedAtMs: 0 };
}
