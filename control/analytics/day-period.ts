/**
 * The period of a read by days (docs/rules/usage-reads.md#days-of-a-zone): from one day to another, both inclusive, by the
 * clock of a zone.
 */
import { dayIn } from "../../shared/zone-days.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;

/** The fields of a query that name days. */
interface DayQuery {
  readonly start_day?: string | undefined;
  readonly end_day?: string | undefined;
  readonly timezone?: string | undefined;
}

/** Days, YYYY-MM-DD, of a zone. */
interface DayPeriod {
  readonly zone: string;
  readonly first: string;
  readonly last: string;
}

/** The days that a query names; by default the last week and today, in UTC. */
export function dayPeriod({ start_day, end_day, timezone = "UTC" }: DayQuery, nowMs: number): DayPeriod {
  return {
    zone: timezone,
    first: start_day ?? dayIn(timezone, nowMs - DEFAULT_DAYS * DAY_MS),
    last: end_day ?? dayIn(timezone, nowMs),
  };
}

/** Whether a query names days, and not instants. */
export function namesDays({ start_day, end_day, timezone }: DayQuery): boolean {
  return [start_day, end_day, timezone].some((value) => value !== undefined);
}
