/**
 * Reads the newest rows of a period without reading the period: through windows of time from its end backwards, each eight
 * times as wide as the one before, until enough were found. The store would open every day of the period to sort them, so
 * that a page over a month cost thirty times that of a day. What a page costs depends on how dense its rows lie and not on
 * how far back it starts.
 */

const FIRST_WINDOW_MS = 3_600_000;
const WIDER = 8;
/** After so many windows (half a year) the rest is one. */
const WINDOWS = 5;

interface ReadPeriod {
  /** Inclusive, epoch ms. */
  readonly fromMs: number;
  /** Where the newest rows are expected, epoch ms; rows that are newer still belong to the first window. */
  readonly aroundMs: number;
}

/** A stretch of time: from `fromMs` on, to before `beforeMs`; null: without an end. */
export interface TimeWindow {
  readonly fromMs: number;
  readonly beforeMs: number | null;
}

/** Its windows, newest first; together they are the period. */
export function windowsOf({ fromMs, aroundMs }: ReadPeriod): readonly TimeWindow[] {
  const windows: TimeWindow[] = [];
  let beforeMs: number | null = null;
  for (let width = FIRST_WINDOW_MS; windows.length < WINDOWS; width *= WIDER) {
    const startMs = aroundMs - width;
    if (startMs <= fromMs) break;
    windows.push({ fromMs: startMs, beforeMs });
    beforeMs = startMs;
  }
  return [...windows, { fromMs, beforeMs }];
}

/** At most `limit` rows; `read` answers the newest of a window, newest first. Throws what `read` throws. */
export async function readNewestFirst<T>(
  period: ReadPeriod,
  limit: number,
  read: (window: TimeWindow, limit: number) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (const window of windowsOf(period)) {
    found.push(...(await read(window, limit - found.length)));
    if (found.length >= limit) break;
  }
  return found;
}
