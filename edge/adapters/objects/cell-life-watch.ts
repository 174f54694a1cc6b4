/**
 * Notices that a Cell lives elsewhere now (docs/rules/admission.md#between-owners). In a cluster an owner that is paused, or cut
 * off, answers nothing and closes no connection: calls to it wait without end, while its lease ends and the next owner serves
 * new calls. So the life of the Cell is asked for when a call begins and while it lasts, each time by a new call, a few times a
 * second for all calls together; when it is another one, what waits for the earlier life fails. An answer also renews the leases
 * on which this isolate holds slots (docs/rules/admission.md#leases-of-isolates).
 */
import { sleep } from "../../../shared/sleep.ts";
import { HolderLease, type LeaseTimers } from "../../domain/admission/holder-lease.ts";
import type { Clock, SlotLease, SlotLeases } from "../../ports.ts";

/** Well below the time for which a new life of a Cell grants nothing (compose-cell.ts). */
const LOOK_EVERY_MS = 200;

/**
 * After a connection broke, no call is made for this long: the runtime may abort on one that is made while it takes the
 * connection down (docs/cluster.md#limits).
 */
const QUIET_MS = 250;

type Timer = ReturnType<typeof setTimeout>;

const TIMERS: LeaseTimers<Timer> = { start: (ms, run) => setTimeout(run, ms), cancel: (timer) => clearTimeout(timer) };

/** The parts of an answer that are stubs themselves. */
const STUBS = ["session"];

type Methods = Readonly<Record<string | symbol, (...args: readonly unknown[]) => Promise<unknown>>>;

/** One isolate's view of one Cell. Its answers are shared by all requests; each request has timers of its own. */
export class CellLifeWatch implements SlotLeases {
  readonly #ask: () => Promise<string>;
  readonly #clock: Clock;
  readonly leaseMs: number;
  /** How often the life was seen to change. */
  #count = 0;
  #seen: string | null = null;
  #asked = 0;
  #answered = 0;
  #askedMs = 0;
  #quietUntilMs = 0;

  /** `ask`: asks the Cell for its life, on a fresh stub. `leaseMs`: how long this isolate keeps slots that it cannot renew. */
  constructor(ask: () => Promise<string>, clock: Clock, leaseMs: number) {
    this.#ask = ask;
    this.#clock = clock;
    this.leaseMs = leaseMs;
  }

  /** How many questions were asked. */
  get asked(): number {
    return this.#asked;
  }

  /** The last question that was answered. */
  get answered(): number {
    return this.#answered;
  }

  /** A lease on what the caller asks the Cell for from now on. It runs in the caller's context. */
  begin(): SlotLease {
    const lease = new HolderLease(this.leaseMs, this, TIMERS);
    const begunMs = this.#clock();
    let timer: Timer | null = null;
    return {
      watch: (onEnd) => {
        lease.atEnd(() => {
          if (timer !== null) clearInterval(timer);
          onEnd();
        });
        timer ??= setInterval(() => {
          lease.renew();
          this.#look();
        }, LOOK_EVERY_MS);
      },
      isHeld: async () => {
        // An isolate that was paused may read an old answer before its own timers have run.
        if (Math.abs(this.#clock() - begunMs) >= LOOK_EVERY_MS) await sleep(0);
        return !lease.hasEnded;
      },
      release: () => {
        if (timer !== null) clearInterval(timer);
        lease.release();
      },
    };
  }

  /** The stub, with calls that fail as retryable when its life is over. So do calls of the stubs in its answers. */
  watched<T extends object>(stub: T, life = this.#count): T {
    const get = (_: T, name: string | symbol): unknown => {
      if (name === "then") return undefined;
      if (name === Symbol.dispose) return () => (stub as Methods)[name]?.();
      return async (...args: readonly unknown[]) => {
        const quietMs = Math.min(this.#quietUntilMs - this.#clock(), QUIET_MS);
        if (quietMs > 0) await sleep(quietMs);
        const answer = await this.#during((stub as Methods)[name]?.(...args), life);
        return typeof answer === "object" && answer !== null ? this.#watchedIn(answer, life) : answer;
      };
    };
    return new Proxy(stub, { get });
  }

  #watchedIn(answer: object, life: number): object {
    const found = Object.entries(answer).filter(([name]) => STUBS.includes(name));
    if (found.length === 0) return answer;
    return { ...answer, ...Object.fromEntries(found.map(([name, stub]) => [name, this.watched(stub, life)])) };
  }

  /** Fails as well when the Cell was out of reach for as long as a lease: what the answer gives is not held any more. */
  async #during(work: unknown, life: number): Promise<unknown> {
    const lost = Promise.withResolvers<never>();
    // Most calls are over before anybody looks again.
    let lease: HolderLease<Timer> | undefined;
    const look = (): void => {
      if (this.#count !== life) lost.reject(Object.assign(new Error("the Cell lives elsewhere"), { retryable: true }));
      else this.#look();
    };
    const timer = setInterval(() => {
      if (lease === undefined) {
        lease = new HolderLease(this.leaseMs, this, TIMERS);
        lease.atEnd(() => lost.reject(new Error("the Cell is out of reach")));
      }
      lease.renew();
      look();
    }, LOOK_EVERY_MS);
    // Also when every call is short: the Cell takes an isolate that does not ask to be gone (silent-members.ts).
    look();
    try {
      return await Promise.race([work, lost.promise]);
    } catch (error) {
      dropLate(work);
      // A life that is over broke no connection.
      if (this.#count === life) this.#broken(error);
      throw error;
    } finally {
      clearInterval(timer);
      lease?.release();
    }
  }

  /** Asks, unless another request has just done so. An answer to an earlier question than the last answered one is old. */
  #look(): void {
    const nowMs = this.#clock();
    const quietMs = this.#quietUntilMs - nowMs;
    // A clock that was set back does not make it quiet for longer.
    if (Math.abs(nowMs - this.#askedMs) < LOOK_EVERY_MS / 2 || (quietMs > 0 && quietMs <= QUIET_MS)) return;
    this.#askedMs = nowMs;
    this.#asked += 1;
    const place = this.#asked;
    const note = (life: string): void => {
      if (place <= this.#answered) return;
      this.#answered = place;
      // A first answer that took more than one question may come from the next life.
      if (this.#seen !== life && place > 1) this.#count += 1;
      this.#seen = life;
    };
    void this.#ask().then(note, (error: unknown) => this.#broken(error));
  }

  #broken(error: unknown): void {
    if ((error as { retryable?: unknown } | null)?.retryable === true) this.#quietUntilMs = this.#clock() + QUIET_MS;
  }
}

/** Gives back what comes with an answer for which nobody waits any more. */
function dropLate(work: unknown): void {
  const drop = (answer: unknown): void => {
    if (typeof answer !== "object" || answer === null) return;
    for (const [name, stub] of Object.entries(answer)) if (STUBS.includes(name)) (stub as Disposable)[Symbol.dispose]();
  };
  void Promise.resolve(work).then(drop, () => undefined);
}
