/**
 * Work that a client can make long, as a generator: at every place where other work may run, it yields the units of work done
 * since the last one. A unit is about what one character of a scanned text costs, some 30 ns. Between two such places no work
 * is longer than a few thousand units, whatever it reads.
 */
export type Steps<T> = Generator<number, T, void>;

/** Does all of it in one piece: for short work, or when nobody else waits. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
