/** The lines of a report: each row with its figures, beside what it cost before and what this month will cost. Pure. */
import type { Records } from "../../data/api.ts";
import { changeOf, type ReportFigures, reportFigures } from "../../forms/usage/report-figures.ts";
import type { GroupOfRow } from "../../forms/usage/row-name.ts";
import { type ReportRow, rowKey } from "./report-words.ts";

export type MonthGroup = Records["MonthSpend"]["groups"][number];

/** A row with its figures. Undefined: not compared, or not known yet; null: not known. */
export interface ReportLine {
  readonly row: GroupOfRow;
  readonly figures: ReportFigures;
  /** Spend in the days that the period is compared with. */
  readonly beforeUsd?: number | null | undefined;
  /** The change of spend as a part of `beforeUsd`; infinite when there was none. */
  readonly change?: number | null | undefined;
  readonly lastMonthUsd?: number | null | undefined;
  readonly forecastUsd?: number | null | undefined;
}

interface Compared {
  /** The same groups in the days before. */
  readonly earlier?: readonly ReportRow[] | undefined;
  /** The same groups in this month and the last one. */
  readonly months?: readonly MonthGroup[] | undefined;
}

/** Every group of either time, those with the most spend first; groups without a price stand last. */
export function reportLines(rows: readonly ReportRow[], { earlier, months }: Compared): readonly ReportLine[] {
  const before = earlier && new Map(earlier.map((row) => [rowKey(row), row]));
  const month = months && new Map(months.map((group) => [rowKey(group), group]));
  const shown = new Set(rows.map(rowKey));
  const gone = (earlier ?? []).filter((row) => !shown.has(rowKey(row))).map(asUnused);
  return [...rows, ...gone]
    .map((row): ReportLine => {
      const key = rowKey(row);
      const figures = reportFigures(row);
      const then = before?.get(key);
      const spent = (usd: number | null): number | null => unlessUnpriced(figures.costUsd, usd);
      const beforeUsd = before && spent(then === undefined ? 0 : reportFigures(then).costUsd);
      const ofMonth = month?.get(key);
      return {
        row,
        figures,
        beforeUsd,
        change: beforeUsd === undefined ? undefined : changeFrom(beforeUsd, figures.costUsd),
        lastMonthUsd: month && spent(ofMonth?.last_month_usd ?? 0),
        forecastUsd: month && spent(ofMonth === undefined ? 0 : ofMonth.forecast_usd),
      };
    })
    .toSorted((a, b) => (b.figures.costUsd ?? -1) - (a.figures.costUsd ?? -1));
}

/** Where the spend of the period is not known, because there was no price, 0 at another time is not known either. */
export function unlessUnpriced(costUsd: number | null, usd: number | null): number | null {
  return costUsd === null && usd === 0 ? null : usd;
}

/** The change as a part of what was before; infinite when that was nothing. */
export function changeFrom(before: number | null, now: number | null): number | null {
  if (before === 0 && now !== null && now > 0) return Number.POSITIVE_INFINITY;
  return changeOf(before, now);
}

/** The group of a row, with nothing used. */
function asUnused(row: ReportRow): ReportRow {
  const numbers = Object.entries(row).map(([name, value]) => [name, typeof value === "number" ? 0 : value] as const);
  return Object.fromEntries(numbers) as ReportRow;
}
