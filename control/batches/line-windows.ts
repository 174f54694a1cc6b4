/**
 * How many lines of each batch and model are under way in each cell (docs/rules/batches.md#windows). A window grows by one with
 * each line that got its slot at once, and shrinks by one with each that had to wait: so about one line more is under way than
 * there are idle slots. Where lines are refused or fail, the batch's model is left alone for a while, and nothing else is.
 */
import { TenantShares } from "./tenant-shares.ts";

const FIRST = 2;
const MOST = 128;
/** All windows together. */
const MOST_IN_ALL = 512;
/** Of each tenant, whatever others have under way. */
const LEAST_LINES = 16;
/** Bytes of all lines of a cell: its Workers hold those that wait for a slot. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Of each tenant in a cell, whatever others have there: small lines need none of the memory of Workers. */
const LEAST_BYTES = 256 * 1024;
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

export class LineWindows {
  readonly #windows = new Map<string, LineWindow>();
  readonly #nowMs: () => number;
  readonly #lines = new TenantShares(MOST_IN_ALL, LEAST_LINES);
  readonly #bytesOfCells = new Map<string, TenantShares>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How many windows are remembered. */
  get size(): number {
    return this.#windows.size;
  }

  /** How many more lines of the queue may be sent now. One of a tenant that has none under way always may. */
  room(queue: LineQueue): number {
    const { tenantId } = queue;
    const { size, underWay, pausedUntilMs } = this.#windows.get(nameOf(queue)) ?? fresh();
    if (pausedUntilMs > this.#nowMs()) return 0;
    const lines = this.#lines.room(tenantId);
    const most = this.#lines.isFree(tenantId) ? Math.max(1, lines) : this.bytes(queue) > 0 ? lines : 0;
    return Math.max(0, Math.min(size - underWay, most));
  }

  /** How many more bytes of the tenant's lines the cell may have now. */
  bytes({ cell, tenantId }: LineQueue): number {
    return this.#bytesOf(cell).room(tenantId);
  }

  sent(queue: LineQueue, bytes: number): void {
    this.#of(queue).underWay += 1;
    this.#count(queue, 1, bytes);
  }

  /** A line is over; `waitedMs`: how long it waited for a slot, null: it got none. */
  ended(queue: LineQueue, bytes: number, waitedMs: number | null): void {
    const window = this.#of(queue);
    window.underWay -= 1;
    this.#count(queue, -1, -bytes);
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

  #count({ cell, tenantId }: LineQueue, lines: 1 | -1, bytes: number): void {
    this.#lines.take(tenantId, lines);
    this.#bytesOf(cell).take(tenantId, bytes);
  }

  #bytesOf(cell: string): TenantShares {
    const shares = this.#bytesOfCells.get(cell) ?? new TenantShares(MOST_BYTES, LEAST_BYTES);
    this.#bytesOfCells.set(cell, shares);
    return shares;
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
