/** A figure by day, stacked by what it was used for: the most expensive groups, and the others as one. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { dayStartMs } from "../../../shared/time/zone-days.ts";
import { REST_ID, SERIES_COLORS } from "../../charts/series-color.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { reportFigures } from "../../forms/usage/report-figures.ts";
import { rowName } from "../../forms/usage/row-name.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type ReportRow, rowKey } from "./report-words.ts";
import classes from "./reports.module.css";
import type { ReportGroup } from "./reports-search.ts";
import type { Shown } from "./shown-figures.ts";

const text = texts("reports", reportsTexts);
const EVERY_MS = 60_000;
/** One colour is that of the others. */
const TOP = String(SERIES_COLORS - 1);

export interface SpendChartProps {
  readonly by: ReportGroup;
  readonly measure: Shown;
  /** The rows of the report, which are days if it is by day. */
  readonly rows: readonly ReportRow[];
  readonly query: { readonly start_day: string; readonly end_day: string };
  readonly zone: string;
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly isReady: boolean;
}

export function SpendChart({ by, measure, rows, query, zone, range, isReady }: SpendChartProps) {
  const group = by === "day" ? "model" : by;
  const spend = useQuery(
    read(
      "/api/v1/costs/daily",
      { params: { query: { ...query, group_by: group, top: TOP } } },
      { everyMs: EVERY_MS, enabled: isReady && by !== "day", keepsOld: false },
    ),
  );
  const days = useMemo(
    () => rows.map((row) => ({ day: row.day, value: reportFigures(row)[measure.figure] })),
    [rows, measure],
  );
  return (
    <div className={classes["chart"]}>
      {by === "day" ? (
        <Bars
          measure={measure}
          zone={zone}
          range={range}
          days={days.map(({ day }) => day)}
          series={[{ id: measure.id, label: text(measure.id), values: days.map(({ value }) => value) }]}
        />
      ) : (
        <Loaded state={spend}>
          {(shown) => <Bars measure={measure} zone={zone} range={range} {...stacked(shown, by, measure)} />}
        </Loaded>
      )}
    </div>
  );
}

interface BarsProps extends Pick<SpendChartProps, "measure" | "zone" | "range"> {
  readonly days: readonly string[];
  readonly series: Parameters<typeof TimeChart>[0]["series"];
}

function Bars({ measure: { id, axis }, zone, range: { fromMs, toMs }, days, series }: BarsProps) {
  const atMs = useMemo(() => days.map((day) => dayStartMs(zone, day)), [days, zone]);
  const range = useMemo(() => ({ fromMs, toMs }), [fromMs, toMs]);
  if (days.length === 0) return <Empty title={text("empty")}>{text("emptyText")}</Empty>;
  return (
    <TimeChart
      title={text(id)}
      atMs={atMs}
      series={series}
      kind="bar"
      isWhole={id === "tokens" || id === "requests"}
      format={axis}
      range={range}
    />
  );
}

/** The groups as series over the days that have any. */
function stacked(
  rows: readonly Records["DailySpend"][],
  by: Exclude<ReportGroup, "day">,
  { field }: Shown,
): Pick<BarsProps, "days" | "series"> {
  const days = [...new Set(rows.map(({ day }) => day))];
  const at = new Map(days.map((day, index) => [day, index]));
  // energy that was not measured is no zero
  const isMeasured = field === "energy_wh" || field === "co2_g";
  const shown = (amount: number): number | null => (isMeasured && amount === 0 ? null : amount);
  const groups = new Map<string, { readonly id: string; readonly label: string; readonly values: (number | null)[] }>();
  for (const row of rows) {
    const id = row.is_rest ? REST_ID : rowKey({ ...row, day: "" });
    const label = row.is_rest ? text("others") : rowName(row, by);
    const group = groups.get(id) ?? { id, label, values: days.map(() => shown(0)) };
    group.values[at.get(row.day) ?? 0] = shown(row[field]);
    groups.set(id, group);
  }
  const sumOf = ({ id, values }: { readonly id: string; readonly values: readonly (number | null)[] }): number =>
    id === REST_ID ? -1 : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  const all = [...groups.values()].toSorted((a, b) => sumOf(b) - sumOf(a));
  // what has no bar needs no entry in the legend
  const drawn = all.filter(({ values }) => values.some((value) => value !== null && value > 0));
  return { days, series: drawn.length === 0 ? all : drawn };
}
