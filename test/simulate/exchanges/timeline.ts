/**
 * Time for the simulation of exchanges: events in order, and the contexts in which code runs: an isolate, one of its
 * requests, one life of a Cell. Code of a dead context never runs again. While an isolate computes, its other code waits
 * and its clock stands still. Timers belong to the context that set them, across awaits.
 */
import { AsyncLocalStorage } from "node:async_hooks";

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
  off: boolean;
}

const inside = new AsyncLocalStorage<Context>();

export class Timeline {
  nowMs = 1_000_000;
  readonly #heap: Entry[] = [];
  readonly #timers = new Map<number, Entry>();
  #order = 0;

  later(delayMs: number, run: () => void): Entry {
    const entry = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order, run, off: false };
    this.#order += 1;
    let at = this.#heap.length;
    while (at > 0 && isLater(this.#heap[at - 1], entry)) at -= 1;
    this.#heap.splice(at, 0, entry);
    return entry;
  }

  /** Runs the events that are due until `untilMs`; everything that follows from one event runs before the next event. */
  async run(untilMs: number, after: () => void): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#heap.shift();
      if (next.off) continue;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
      await settled();
      after();
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  /** Replaces the global function: the timer fires in the context that set it. */
  readonly setTimeout = (run: () => void, delayMs = 0): number => {
    const context = inside.getStore();
    const entry = this.later(delayMs, () => {
      this.#timers.delete(entry.order);
      if (context === undefined) run();
      else context.enter(run);
    });
    this.#timers.set(entry.order, entry);
    return entry.order;
  };

  /** Replaces the global function: the id of the interval stays the same. */
  readonly setInterval = (run: () => void, everyMs: number): number => {
    const again = (): void => {
      const next = this.#timers.get(this.setTimeout(tick, everyMs));
      if (next !== undefined) this.#timers.set(id, next);
    };
    const tick = (): void => {
      again();
      run();
    };
    const id = this.setTimeout(tick, everyMs);
    return id;
  };

  readonly clearTimeout = (id: unknown): void => {
    const entry = this.#timers.get(Number(id));
    if (entry !== undefined) entry.off = true;
    this.#timers.delete(Number(id));
  };
}

function isLater(one: Entry | undefined, other: Entry): boolean {
  return one !== undefined && one.atMs > other.atMs;
}

/** Resolves when every promise that can settle has settled. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}

export class Context {
  readonly name: string;
  readonly #time: Timeline;
  readonly #parent: Context | null;
  readonly #deaths = new Set<() => void>();
  #alive = true;
  #busyUntilMs = 0;
  /** The time at which the clock stands while the context computes. */
  #clockMs: number | null = null;

  constructor(name: string, time: Timeline, parent: Context | null = null) {
    this.name = name;
    this.#time = time;
    this.#parent = parent;
    parent?.onDeath(() => this.die());
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** The time that code of this context reads. */
  get clockMs(): number {
    return this.#parent?.clockMs ?? this.#clockMs ?? this.#time.nowMs;
  }

  /** Runs code in this context, now or when the turn under way is over; never once the context is dead. */
  enter(run: () => void): void {
    if (!this.#alive) return;
    const waitMs = this.#busyMs() - this.#time.nowMs;
    if (waitMs > 0) this.#time.later(waitMs, () => this.enter(run));
    else inside.run(this, run);
  }

  /** A turn that takes `forMs`: the code at its end still reads the clock of its beginning. */
  compute(forMs: number, atEnd: () => void): void {
    if (this.#busyUntilMs > this.#time.nowMs) return;
    const beganMs = this.#time.nowMs;
    this.#busyUntilMs = beganMs + forMs;
    this.#time.later(forMs, () => {
      if (!this.#alive) return;
      this.#clockMs = beganMs;
      inside.run(this, atEnd);
      this.#clockMs = null;
    });
  }

  die(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const notify of this.#deaths) notify();
    this.#deaths.clear();
  }

  /** Calls a function when the context dies. Returns a function that cancels this. */
  onDeath(notify: () => void): () => void {
    this.#deaths.add(notify);
    return () => this.#deaths.delete(notify);
  }

  #busyMs(): number {
    return Math.max(this.#busyUntilMs, this.#parent === null ? 0 : this.#parent.#busyMs());
  }
}

/** The context whose code runs now. Throws outside of all contexts. */
export function here(): Context {
  const context = inside.getStore();
  if (context === undefined) throw new Error("code of the simulation runs in some context");
  return context;
}
