/**
 * Work that a client can make long, as a generator: at every place where others may have their turn it tells how many units of
 * work it has done since the last one. A unit is about what one character of a scanned text costs, some 30 ns. Between two
 * such places no work is longer than a few thousand units, whatever it reads.
 */
export type Steps<T> = Generator<number, T, void>;

/** Does all of it in one piece: where the work is short, or nobody else waits. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
