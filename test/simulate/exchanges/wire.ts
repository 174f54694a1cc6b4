/**
 * Calls between contexts that take time and go wrong: a call may be lost, its answer may be lost, or the sender gives up on
 * a call that arrives later all the same. Calls of one link arrive in order. A call to a dead context fails; a dead caller
 * gets no answer.
 */
import type { Random } from "../random.ts";
import type { Context, Timeline } from "./timeline.ts";

interface Faults {
  /** Chance that a call goes wrong in one of the three ways. */
  readonly lossy: number;
  /** The same chance for the calls of a session and for its recalls. */
  readonly sessionLossy: number;
  /** Chance that a call takes long, and how long at most. */
  readonly slow: number;
  readonly slowMs: number;
}

export const CALM: Faults = { lossy: 0, sessionLossy: 0, slow: 0, slowMs: 0 };

/** Keeps calls in one direction in order. */
export class Link {
  lastMs = 0;
}

interface CallOptions<T> {
  readonly link?: Link;
  /** Called with an answer that its caller does not receive. */
  readonly undone?: (value: T) => void;
  /** The call fails only when one of the two contexts dies, and it never takes long. */
  readonly sure?: boolean;
  /** The call belongs to a session. */
  readonly sessionCall?: boolean;
}

const SURE_MS = 0.5;
const LATE_MS = 1_000;

type Fate = "arrives" | "lost" | "answerLost" | "late";

export class Wire {
  #faults: Faults = CALM;
  /** The longest time that a call could take under any weather so far. */
  longestMs = 0;
  readonly #time: Timeline;
  readonly #random: Random;

  constructor(time: Timeline, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  get faults(): Faults {
    return this.#faults;
  }

  set faults(faults: Faults) {
    this.#faults = faults;
    const { lossy, sessionLossy, slow, slowMs } = faults;
    this.longestMs = Math.max(this.longestMs, (slow > 0 ? slowMs : 0) + (lossy + sessionLossy > 0 ? LATE_MS : 0));
  }

  tripMs(): number {
    const { slow, slowMs } = this.#faults;
    if (this.#random.next() < slow) return this.#random.between(5, Math.max(5, slowMs));
    return 0.2 + this.#random.next() * 1.3;
  }

  /** `addressee`: the context that is called. A function is asked when the call arrives, because the object may have restarted. */
  async call<T>(
    from: Context,
    addressee: Context | (() => Context),
    work: () => Promise<T> | T,
    { link, undone, sure = false, sessionCall = false }: CallOptions<T> = {},
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const fate = sure ? "arrives" : this.#fate(sessionCall ? this.#faults.sessionLossy : this.#faults.lossy);
    let to = typeof addressee === "function" ? null : addressee;
    const fail = () =>
      from.enter(() =>
        reject(Object.assign(new Error(`${to?.name ?? "nobody"} does not answer ${from.name}`), { retryable: true })),
      );
    const failSoon = () => this.#time.later(this.tripMs(), fail);
    let forget = to?.onDeath(failSoon) ?? (() => undefined);
    const tripMs = sure ? SURE_MS : this.tripMs();
    const toMs = this.#arrivalMs(fate === "late" ? tripMs + this.#random.between(1, LATE_MS) : tripMs, link);
    const arrive = () => {
      if (typeof addressee === "function") {
        to = addressee();
        if (fate !== "late") forget = to.onDeath(failSoon);
      }
      if (to?.alive === true) to.enter(() => void this.#serve(work, answer, lose));
      else lose();
    };
    const answer = (value: T) => {
      forget();
      if (to?.alive === true && fate === "arrives") {
        this.#time.later(this.tripMs(), () => {
          if (!from.alive) return undone?.(value);
          const heard = from.onDeath(() => undone?.(value));
          from.enter(() => {
            heard();
            resolve(value);
          });
        });
        return;
      }
      undone?.(value);
      failSoon();
    };
    const lose = () => {
      forget();
      failSoon();
    };
    if (fate === "late" || fate === "lost") lose();
    if (fate !== "lost") this.#time.later(toMs, arrive);
    return await promise;
  }

  /** A message that always arrives, as the runtime's own messages do. */
  notify(to: Context, work: () => void, link?: Link): void {
    this.#time.later(this.#arrivalMs(this.tripMs(), link), () => to.enter(work));
  }

  async #serve<T>(work: () => Promise<T> | T, answer: (value: T) => void, lose: () => void): Promise<void> {
    try {
      answer(await work());
    } catch {
      lose();
    }
  }

  #arrivalMs(tripMs: number, link: Link | undefined): number {
    if (link === undefined) return tripMs;
    link.lastMs = Math.max(link.lastMs + 0.001, this.#time.nowMs + tripMs);
    return link.lastMs - this.#time.nowMs;
  }

  #fate(lossy: number): Fate {
    if (this.#random.next() >= lossy) return "arrives";
    return (["lost", "answerLost", "late"] as const)[this.#random.between(0, 2)] ?? "lost";
  }
}
