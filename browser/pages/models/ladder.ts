/** The steps of auto-tune as lengths of bars (docs/rules/autotune.md#ladder). Whatever they say, every bar is within its plot. Pure. */
import { drawnPart } from "../../charts/numbers.ts";

/** A bar; lengths are fractions of the largest value that is shown. */
interface LadderBar {
  readonly concurrency: number;
  /** Null: there is no value. */
  readonly value: number | null;
  readonly length: number;
}

interface Ladder {
  readonly bars: readonly LadderBar[];
  /** Where the limit stands; null: there is none. */
  readonly limitAt: number | null;
}

/** The bars of one figure of the steps, with a limit in the same unit. */
export function ladderOf<S extends { readonly concurrency: number }>(
  steps: readonly S[],
  figureOf: (step: S) => number | null,
  limit: number | null,
): Ladder {
  const values = steps.map((step) => {
    const value = figureOf(step);
    return value === null || !Number.isFinite(value) ? null : drawnPart(value);
  });
  const most = values.reduce<number>((largest, value) => Math.max(largest, value ?? 0), drawnPart(limit));
  const lengthOf = (value: number): number => (most === 0 ? 0 : value / most);
  return {
    bars: steps.map(({ concurrency }, at) => ({
      concurrency,
      value: values[at] ?? null,
      length: lengthOf(values[at] ?? 0),
    })),
    limitAt: limit === null ? null : lengthOf(drawnPart(limit)),
  };
}
