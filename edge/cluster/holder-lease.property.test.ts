/**
 * The law of leases: a Cell takes slots back only from an isolate that has ended its requests, or is stopped where it is and
 * ends them before it does anything else. Under any delays and losses of messages, and any pauses of the Cell and of the
 * isolate. Neither side has a clock, so there is none to set, and each has its own patience.
 */
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { HolderLease, holderLeaseMs } from "./holder-lease.ts";
import { MemberSilence } from "./member-silence.ts";

const EVERY_MS = 2_000;
const LOOK_MS = 200;

/** One process: events that fall due while it is paused happen when it resumes, messages first, then timers by their due time. */
class Process {
  readonly #pauses: readonly (readonly [fromMs: number, untilMs: number])[];

  constructor(pauses: readonly (readonly [fromMs: number, lengthMs: number])[]) {
    this.#pauses = pauses.map(([fromMs, lengthMs]) => [fromMs, fromMs + lengthMs] as const);
  }

  /** When events that are due then happen. */
  when(dueMs: number): number {
    let at = dueMs;
    for (;;) {
      const pause = this.#pauses.find(([fromMs, untilMs]) => fromMs <= at && at < untilMs);
      if (pause === undefined) return at;
      at = pause[1];
    }
  }
}

interface Happening {
  readonly at: number;
  /** Messages before timers. */
  readonly rank: number;
  readonly due: number;
  readonly run: () => void;
}

/** What happens, in order. */
class World {
  nowMs = 0;
  readonly #due: Happening[] = [];

  add(process: Process, dueMs: number, rank: number, run: () => void): Happening {
    const happening = { at: process.when(dueMs), rank, due: dueMs, run };
    this.#due.push(happening);
    return happening;
  }

  /** Starts a timer, and returns what cancels it. */
  start(process: Process, ms: number, run: () => void): () => void {
    const happening = this.add(process, this.nowMs + ms, 1, run);
    return () => {
      const at = this.#due.indexOf(happening);
      if (at >= 0) this.#due.splice(at, 1);
    };
  }

  runUntil(ms: number): void {
    for (;;) {
      this.#due.sort((a, b) => a.at - b.at || a.rank - b.rank || a.due - b.due);
      const next = this.#due.shift();
      if (next === undefined || next.at > ms) return;
      this.nowMs = next.at;
      next.run();
    }
  }
}

const pauses = fc.array(fc.tuple(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 1, max: 60_000 })), {
  maxLength: 3,
});
/** When the connection between the two is cut, and for how long; messages sent then arrive afterwards, or never. */
const cuts = fc.array(
  fc.record({
    fromMs: fc.integer({ min: 0, max: 60_000 }),
    lengthMs: fc.integer({ min: 1, max: 90_000 }),
    drops: fc.boolean(),
  }),
  { maxLength: 3 },
);
const delays = fc.array(fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 30_000 })), {
  minLength: 1,
  maxLength: 40,
});
const patienceMs = fc.constantFrom(1_000, 8_000, 25_000, 40_000);
const history = fc.record({
  patienceMs,
  cellPatienceMs: patienceMs,
  holderPauses: pauses,
  cellPauses: pauses,
  cuts,
  delays,
  askAtMs: fc.integer({ min: 0, max: 30_000 }),
});

it("lets nobody hold a slot that was taken back", () => {
  let taken = 0;
  let kept = 0;
  fc.assert(
    fc.property(history, ({ patienceMs, cellPatienceMs, askAtMs, ...past }) => {
      const world = new World();
      const holder = new Process(past.holderPauses);
      const cell = new Process(past.cellPauses);
      let sent = 0;
      const send = (to: Process, run: () => void): void => {
        const cut = past.cuts.find(({ fromMs, lengthMs }) => fromMs <= world.nowMs && world.nowMs < fromMs + lengthMs);
        if (cut?.drops === true) return;
        const delayMs = past.delays[sent % past.delays.length] ?? 0;
        sent += 1;
        world.add(to, Math.max(world.nowMs, cut === undefined ? 0 : cut.fromMs + cut.lengthMs) + delayMs, 0, run);
      };
      const after = (ms: number, run: () => void) => world.start(holder, ms, run);

      const leaseMs = holderLeaseMs(patienceMs);
      const silence = new MemberSilence(holderLeaseMs(cellPatienceMs), EVERY_MS);
      /** When the slot was taken back, true time; null: it was not. */
      let takenBackMs: number | null = null;
      let isGranted = false;
      const beat = (): void => {
        if (silence.pass().gone.length > 0 && isGranted) takenBackMs ??= world.nowMs;
        world.add(cell, world.nowMs + EVERY_MS, 1, beat);
      };
      world.add(cell, 0, 1, beat);

      const questions = { asked: 0, answered: 0 };
      const ask = (): void => {
        questions.asked += 1;
        const place = questions.asked;
        send(cell, () => {
          silence.heard("isolate", leaseMs);
          send(holder, () => {
            questions.answered = Math.max(questions.answered, place);
          });
        });
      };
      let endedMs: number | null = null;
      world.add(holder, askAtMs, 1, () => {
        const lease = new HolderLease(leaseMs, questions, after, () => {
          endedMs = world.nowMs;
        });
        const look = (): void => {
          lease.renew();
          ask();
          if (!lease.hasEnded) world.add(holder, world.nowMs + LOOK_MS, 1, look);
        };
        send(cell, () => {
          silence.heard("isolate", leaseMs);
          isGranted = true;
        });
        look();
      });
      world.runUntil(200_000);

      if (takenBackMs === null) {
        kept += 1;
        return;
      }
      taken += 1;
      expect(endedMs).not.toBeNull();
      // Before that, or in the first moment after a pause that had started before that.
      const due = endedMs as unknown as number;
      if (due > takenBackMs) expect(due).toBe(holder.when(takenBackMs));
    }),
    { numRuns: 400 },
  );
  // Both happen.
  expect(Math.min(taken, kept)).toBeGreaterThan(20);
});

it("keeps a slot as long as questions are answered, and for nothing but a lease after that", () => {
  for (const [patienceMs, leaseMs] of [
    [1_000, 5_000],
    [25_000, 25_000],
  ] as const) {
    const world = new World();
    const always = new Process([]);
    const questions = { asked: 0, answered: 0 };
    const after = (ms: number, run: () => void) => world.start(always, ms, run);
    let endedMs = 0;
    const lease = new HolderLease(holderLeaseMs(patienceMs), questions, after, () => {
      endedMs = world.nowMs;
    });
    const look = (): void => {
      lease.renew();
      questions.asked += 1;
      if (world.nowMs < 120_000) questions.answered = questions.asked;
      if (!lease.hasEnded) world.add(always, world.nowMs + LOOK_MS, 1, look);
    };
    look();
    world.runUntil(500_000);
    // A deadline starts at most two checks before the question that proves it.
    expect(endedMs).toBeGreaterThanOrEqual(120_000 + leaseMs - 2 * LOOK_MS);
    expect(endedMs).toBeLessThanOrEqual(120_000 + leaseMs);
  }
});

it("ends nothing that was released", () => {
  const running = new Set<() => void>();
  const after = (_ms: number, run: () => void) => {
    running.add(run);
    return () => void running.delete(run);
  };
  const ended = vi.fn();
  const lease = new HolderLease(25_000, { asked: 0, answered: 0 }, after, ended);
  lease.renew();
  lease.release();
  lease.renew();
  expect({ runningCount: running.size, endedCalls: ended.mock.calls.length }).toEqual({
    runningCount: 0,
    endedCalls: 0,
  });
});
