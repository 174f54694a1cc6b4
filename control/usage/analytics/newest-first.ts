/**
 * Reads the newest rows of a period without reading the whole period: it reads windows of time from the end of the period
 * backwards, each eight times as long as the one before, until it has found enough rows. Otherwise the store would sort
 * every day of the period, and a page over a month would cost thirty times a page over a day. The cost of a page depends on
 * how many rows there are per hour and not on how far back it starts.
 */

const FIRST_WINDOW_MS = 3_600_000;
const WIDER = 8;
/** The number of windows (half a year together); what lies before them is one more window. */
const WINDOWS = 5;

interface ReadPeriod {
  /** Inclusive, epoch ms. */
  readonly fromMs: number;
  /** Where the newest rows are expected, epoch ms; rows that are newer belong to the first window too. */
  readonly aroundMs: number;
}

/** A stretch of time from `fromMs` (inclusive) to `beforeMs` (exclusive); null: without an end. */
export interface TimeWindow {
  readonly fromMs: number;
  readonly beforeMs: number | null;
}

/** The windows of a period, newest first; together they cover the period. */
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

/** Returns at most `limit` rows; `read` answers the newest rows of a window, newest first. Throws what `read` throws. */
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
