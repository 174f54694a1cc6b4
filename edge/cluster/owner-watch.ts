/**
 * Notices that a Cell lives elsewhere now (docs/rules/admission.md#between-owners). In a cluster an owner that is paused, or
 * cut off, answers nothing and closes no connection: calls to it wait without end, while its lease ends and the next owner
 * serves new calls. So the life of the Cell is queried when a call starts and while it lasts, each time by a new call, a few
 * times a second for all calls together. When the life has changed, calls that wait for the earlier life fail. An answer also
 * renews the leases on which this isolate holds slots (docs/rules/admission.md#leases-of-isolates).
 */
import { sleep } from "../../shared/time/sleep.ts";
import type { Clock, MakeCall } from "../ports.ts";
import { HolderLease } from "./holder-lease.ts";

/** Well below the time for which a new life of a Cell grants nothing (compose-cell.ts). */
const LOOK_EVERY_MS = 200;

/**
 * After a connection broke, no call is made for this long: the runtime may abort on one that is made while it takes the
 * connection down (docs/cluster.md#limits).
 */
const QUIET_MS = 250;

/** The lease for a request's call to the Cell, in the context of the request. */
export interface SlotLease {
  /** Whether it has not ended, also after a pause of the whole isolate. */
  isHeld(): Promise<boolean>;
  /** The slot was returned, or the place left. */
  release(): void;
}

/** One isolate's view of one Cell. Its answers are shared by all requests; each request has its own timers. */
export class OwnerWatch {
  readonly #ask: () => Promise<string>;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  /** How often the life was seen to change. */
  #changes = 0;
  #seen: string | null = null;
  readonly #questions = { asked: 0, answered: 0 };
  #askedMs = 0;
  #quietUntilMs = 0;

  /** `ask`: asks the Cell for its life, on a fresh stub. `leaseMs`: how long this isolate keeps slots that it cannot renew. */
  constructor(ask: () => Promise<string>, clock: Clock, leaseMs: number) {
    this.#ask = ask;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /**
   * A lease for the caller's requests to the Cell from now on. `onEnd`: the Cell could not be reached for the time of the
   * lease. `onLook`: called after each check, until then.
   */
  begin(onEnd: () => void, onLook: () => void = () => undefined): SlotLease {
    const begunMs = this.#clock();
    const timer = setInterval(() => {
      lease.renew();
      this.#look();
      onLook();
    }, LOOK_EVERY_MS);
    const lease = new HolderLease(this.#leaseMs, this.#questions, after, () => {
      clearInterval(timer);
      onEnd();
    });
    return {
      isHeld: async () => {
        // An isolate that was paused may read an old answer before its own timers have run.
        if (Math.abs(this.#clock() - begunMs) >= LOOK_EVERY_MS) await sleep(0);
        return !lease.hasEnded;
      },
      release: () => {
        clearInterval(timer);
        lease.release();
      },
    };
  }

  /**
   * Makes calls to the present life of the Cell, or its Ledgers. They fail as retryable once the Cell lives elsewhere. They
   * also fail when it was out of reach for as long as a lease, because a grant in the answer is no longer held.
   */
  readonly calls = (): MakeCall => {
    const life = this.#changes;
    return async (call) => await this.#during(call, life);
  };

  async #during<T>(call: () => Promise<T>, life: number): Promise<T> {
    const quietMs = Math.min(this.#quietUntilMs - this.#clock(), QUIET_MS);
    if (quietMs > 0) await sleep(quietMs);
    const lost = Promise.withResolvers<never>();
    const compare = (): void => {
      if (this.#changes !== life)
        lost.reject(Object.assign(new Error("the Cell lives elsewhere"), { retryable: true }));
    };
    const lease = this.begin(() => lost.reject(new Error("the Cell is out of reach")), compare);
    // Also when every call is short: if an isolate asks nothing, the Cell considers it gone (member-silence.ts).
    this.#look();
    compare();
    try {
      return await Promise.race([call(), lost.promise]);
    } catch (error) {
      // A life that is over broke no connection.
      if (this.#changes === life) this.#broken(error);
      throw error;
    } finally {
      lease.release();
    }
  }

  /** Asks, unless another request has just done so. An answer to an earlier question than the last answered one is old. */
  #look(): void {
    const nowMs = this.#clock();
    const quietMs = this.#quietUntilMs - nowMs;
    // A clock that was set back does not make it quiet for longer.
    if (Math.abs(nowMs - this.#askedMs) < LOOK_EVERY_MS / 2 || (quietMs > 0 && quietMs <= QUIET_MS)) return;
    this.#askedMs = nowMs;
    this.#questions.asked += 1;
    const place = this.#questions.asked;
    const note = (life: string): void => {
      if (place <= this.#questions.answered) return;
      this.#questions.answered = place;
      // A first answer that took more than one question may come from the next life.
      if (this.#seen !== life && place > 1) this.#changes += 1;
      this.#seen = life;
    };
    void this.#ask().then(note, (error: unknown) => this.#broken(error));
  }

  #broken(error: unknown): void {
    if ((error as { retryable?: unknown } | null)?.retryable === true) this.#quietUntilMs = this.#clock() + QUIET_MS;
  }
}

function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
