/** The sums of a report, each against the days before; of this month, with its forecast. */
import type { Records } from "../../data/api.ts";
import { changeOf, type ReportFigures } from "../../forms/usage/report-figures.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { formatDays } from "../../time/periods.ts";
import { formatUsd } from "../../ui/format.ts";
import { Grid, Tile } from "../../ui/layout.tsx";
import { Usd } from "../../ui/usd.tsx";
import { changeText } from "./report-columns.tsx";
import { unlessUnpriced } from "./report-lines.ts";
import type { Days } from "./report-period.ts";
import type { ReportRow } from "./report-words.ts";
import { SHOWN, type Shown } from "./shown-figures.ts";

const text = texts("reports", reportsTexts);

/** What a report is compared with; undefined: not known yet. */
export interface Compared {
  /** By day. */
  readonly earlierSums: readonly ReportRow[] | undefined;
  /** By the groups of the report. */
  readonly earlier: readonly ReportRow[] | undefined;
  readonly months: Records["MonthSpend"] | undefined;
  /** The days before; null: they are not kept. */
  readonly days: Days | null;
  /** This month is shown. */
  readonly isMonth: boolean;
}

interface SpendTilesProps {
  readonly totals: ReportFigures;
  readonly before: ReportFigures | undefined;
  readonly compared: Compared;
}

export function SpendTiles({ totals, before, compared: { months, days, isMonth } }: SpendTilesProps) {
  // Said once, of the first tile.
  const noteOf = ({ figure, format }: Shown, at: number): string => {
    const change = before === undefined ? null : changeOf(before[figure], totals[figure]);
    if (change === null || before === undefined) return at === 0 && !isMonth ? text("beforeUnknown") : "";
    return text("before", { change: changeText(change), amount: format(before[figure]) });
  };
  const sums = SHOWN.filter(({ figure }) =>
    figure !== "energyWh" && figure !== "co2Grams" ? true : totals[figure] !== null,
  );
  return (
    <Grid>
      {isMonth && (
        <MonthTiles costUsd={totals.costUsd} beforeUsd={before?.costUsd ?? null} months={months} days={days} />
      )}
      {sums
        .filter(({ id }) => id !== "cost" || !isMonth)
        .map((one, at) => (
          <Tile key={one.id} label={text(one.id)} value={one.format(totals[one.figure])} note={noteOf(one, at)} />
        ))}
    </Grid>
  );
}

interface MonthTilesProps extends Pick<Compared, "months" | "days"> {
  /** Null: what was used had no price. */
  readonly costUsd: number | null;
  readonly beforeUsd: number | null;
}

function MonthTiles({ costUsd, beforeUsd, months, days }: MonthTilesProps) {
  const change = changeOf(beforeUsd, costUsd);
  const forecastUsd = unlessUnpriced(costUsd, months?.forecast_usd ?? null);
  const lastMonthUsd = unlessUnpriced(costUsd, months?.last_month_usd ?? null);
  const ofMonth = changeOf(lastMonthUsd, forecastUsd);
  return (
    <>
      <Tile
        label={text("monthToDate")}
        value={<Usd usd={costUsd} />}
        note={
          change === null || days === null
            ? text("beforeUnknown")
            : text("againstDays", {
                change: changeText(change),
                days: formatDays(days.first, days.last),
                amount: formatUsd(beforeUsd),
              })
        }
      />
      <Tile
        label={text("forecast")}
        value={<Usd usd={forecastUsd} />}
        note={
          ofMonth !== null
            ? text("againstMonth", { change: changeText(ofMonth) })
            : months?.forecast_usd === null
              ? text("forecastUnknown")
              : ""
        }
      />
      <Tile label={text("lastMonth")} value={<Usd usd={lastMonthUsd} />} note={text("lastMonthNote")} />
    </>
  );
}
