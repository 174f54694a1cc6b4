/**
 * How fast a budget is used, when it runs out, and what would make it last (docs/rules/budgets.md#run-out). The only place that
 * works it out: reads, alerts and the console say the same. Pure.
 */
import { AMOUNT_MAX } from "./amount.ts";

const DAY_MS = 86_400_000;
/** A week later, use counts 1/e. */
const FADE_MS = 7 * DAY_MS;

/** Use since the first one, the older the less. Its sums are as of the last use, with fractions, and fade from then on. */
export interface RecentUse {
  /** First use, epoch ms. */
  readonly sinceMs: number;
  /** Last use, epoch ms. */
  readonly atMs: number;
  readonly tokens: number;
  readonly nanoUsd: number;
}

/** What a later time leaves of an amount; a clock that was set back leaves all of it. */
const faded = (amount: number, ms: number): number => amount * Math.exp(-Math.max(0, ms) / FADE_MS);

/** The recent use with that of a request. */
export function withUse(
  recent: RecentUse | undefined,
  used: { readonly tokens: number; readonly nanoUsd: number },
  nowMs: number,
): RecentUse {
  const before = recent ?? { sinceMs: nowMs, atMs: nowMs, tokens: 0, nanoUsd: 0 };
  const ms = nowMs - before.atMs;
  return {
    sinceMs: Math.min(before.sinceMs, nowMs),
    atMs: nowMs,
    tokens: Math.min(AMOUNT_MAX, faded(before.tokens, ms) + used.tokens),
    nanoUsd: Math.min(AMOUNT_MAX, faded(before.nanoUsd, ms) + used.nanoUsd),
  };
}

/**
 * The use per day: the mean since the first use, recent days weighted more. The first day counts as a whole one. Null: there was
 * no use yet.
 */
export function ratePerDay(recent: RecentUse | undefined, of: "tokens" | "nanoUsd", nowMs: number): number | null {
  if (recent === undefined) return null;
  const observedMs = FADE_MS - faded(FADE_MS, nowMs - recent.sinceMs);
  return (faded(recent[of], nowMs - recent.atMs) / Math.max(DAY_MS, observedMs)) * DAY_MS;
}

/** One cap of a budget, in tokens or in USD. */
interface Counted {
  readonly used: number;
  readonly cap: number;
  readonly perDay: number;
}

export interface RunOut {
  /** When the cap is reached at this rate; null: not before the period ends, or never. */
  readonly atMs: number | null;
  /** What is used when the period ends at this rate: the cap that lasts until then; null: the period has no end. */
  readonly capToLast: number | null;
  /** The use per day, from now on, with which the cap lasts until the period ends; null: the period has no end. */
  readonly perDayToLast: number | null;
}

/** How long a cap lasts; `endMs`: the end of its period, null if it has none. */
export function runOutOf({ used, cap, perDay }: Counted, endMs: number | null, nowMs: number): RunOut {
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
