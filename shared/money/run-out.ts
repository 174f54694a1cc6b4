/**
 * When a budget runs out, and what would make it last (docs/rules/budgets.md#run-out). The only place that works it out: reads,
 * alerts and the console say the same. Pure.
 */

const DAY_MS = 86_400_000;
/** The mean of a shorter time says nothing about a day. */
const LEAST_ELAPSED_MS = 3_600_000;

/** One cap of a budget, in tokens or in USD. */
interface Counted {
  readonly used: number;
  readonly cap: number;
}

/** Bounds of the budget's period, epoch ms; null if it has none. */
interface BudgetPeriod {
  readonly startMs: number | null;
  readonly endMs: number | null;
}

export interface RunOut {
  /** When the cap is reached at the mean rate; null: not before the period ends, or never. */
  readonly atMs: number | null;
  /** The cap that lasts until the period ends at the mean rate; null: the period has no end. */
  readonly capToLast: number | null;
  /** The use per day, from now on, with which the cap lasts until the period ends; null: the period has no end. */
  readonly perDayToLast: number | null;
}

/** The mean use per day since the period started; null: it started less than an hour ago, or has no start. */
export function meanPerDay(used: number, { startMs }: Pick<BudgetPeriod, "startMs">, nowMs: number): number | null {
  if (startMs === null || nowMs - startMs < LEAST_ELAPSED_MS) return null;
  return (used / (nowMs - startMs)) * DAY_MS;
}

/** How long a cap lasts at the mean rate of its period; null: the rate is not known. */
export function runOutOf({ used, cap }: Counted, period: BudgetPeriod, nowMs: number): RunOut | null {
  const perDay = meanPerDay(used, period, nowMs);
  if (perDay === null) return null;
  const { endMs } = period;
  const left = Math.max(0, cap - used);
  const atMs = left === 0 ? nowMs : perDay === 0 ? Number.POSITIVE_INFINITY : nowMs + (left / perDay) * DAY_MS;
  const daysLeft = endMs === null ? null : Math.max(0, endMs - nowMs) / DAY_MS;
  return {
    // beyond the times that a date can hold it never runs out
    atMs: atMs < (endMs ?? LAST_MS) ? Math.round(atMs) : null,
    capToLast: daysLeft === null ? null : used + perDay * daysLeft,
    perDayToLast: daysLeft === null || daysLeft === 0 ? null : left / daysLeft,
  };
}

/** The last instant of the year 9999: a later one has no ISO form of four digits. */
const LAST_MS = 253_402_300_799_999;
