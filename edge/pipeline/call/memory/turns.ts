/** The turns of work that clients can make long (docs/rules/request-bodies.md#work). */

/** The work of one turn, in units; several calls that work share it. */
const TURN_UNITS = 32 * 1024;
const TURN_UNITS_MIN = 1024;
/**
 * Work of more units is long. Its results stay in memory until it ends, and garbage collection pauses the runtime longer the
 * more objects live. So of one tenant's long works only the first has turns.
 */
const LONG_UNITS = 1024 * 1024;
/** How long a work waits for each that is before it, and at most, ms. */
const WAIT_MS = 10;
const WAIT_MAX_MS = 1_000;
/** A call that has had no turn for this long has ended without notice. */
const FORGOTTEN_AFTER_MS = 3_000;

interface Work {
  /** When it last had a turn or asked for one, epoch ms. */
  readonly lastMs: number;
  readonly waits: boolean;
}

/** The work of an isolate that is done in turns. */
export class Turns {
  readonly #tenants = new WeakMap<object, string>();
  readonly #works = new Map<object, Work>();
  /** Long works in their order, each with its tenant. */
  readonly #long = new Map<object, string>();

  /** Notes whose request it is. */
  belongs(request: object, tenant: string): void {
    this.#tenants.set(request, tenant);
  }

  /** How long a turn of this work may be, in units: waiting for the turns of all takes about as long as waiting for one. */
  unitsOf(work: object): number {
    let sharing = 1;
    for (const [other, { waits }] of this.#works) if (other !== work && !waits) sharing += 1;
    return Math.max(TURN_UNITS / sharing, TURN_UNITS_MIN);
  }

  /** Notes a turn of a request's work, which has done so many units by now. Returns how long it waits for others, ms; 0: it continues. */
  had(work: object, request: object, units: number, nowMs: number): number {
    // those that had their turn last come last
    this.#works.delete(work);
    for (const [other, { lastMs }] of this.#works) {
      if (nowMs - lastMs < FORGOTTEN_AFTER_MS) break;
      this.end(other);
    }
    const tenant = this.#tenants.get(request);
    if (units > LONG_UNITS && tenant !== undefined && !this.#long.has(work)) this.#long.set(work, tenant);
    const before = this.#before(work);
    this.#works.set(work, { lastMs: nowMs, waits: before > 0 });
    return Math.min(before * WAIT_MS, WAIT_MAX_MS);
  }

  end(work: object): void {
    this.#works.delete(work);
    this.#long.delete(work);
  }

  /** How many long works of its tenant are before it. */
  #before(work: object): number {
    const its = this.#long.get(work);
    let before = 0;
    if (its === undefined) return before;
    for (const [other, tenant] of this.#long) {
      if (other === work) break;
      if (tenant === its) before += 1;
    }
    return before;
  }
}
