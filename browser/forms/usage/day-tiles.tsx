/** How one tenant or model does, in four figures with the line of seven days, each with the view that explains it. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { dayIn } from "../../../shared/time/zone-days.ts";
import { read } from "../../data/reads.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { daysBefore } from "../../time/periods.ts";
import { Age, useNow } from "../../time/use-clock.tsx";
import { usableZone } from "../../time/zones.ts";
import { formatShare, formatShortCount, formatUsd } from "../../ui/format.ts";
import { BUCKET_MS, dayFigures } from "./day-figures.ts";
import classes from "./figure-tile.module.css";
import { FigureTile } from "./figure-tile.tsx";
import { reportFigures, reportTotals } from "./report-figures.ts";
import { type SpendOfMonth, spendNote, weekLines } from "./week-lines.ts";

const text = texts("usage", usageTexts);
const EVERY_MS = 60_000;

export type ObjectFilter = { readonly tenant_id: string } | { readonly model: string };

interface DayTilesProps {
  readonly filter: ObjectFilter;
  /** Whose days and months these are. */
  readonly zone: string;
  /** Further tiles, before those of the day. */
  readonly children?: ReactNode;
}

export function DayTiles({ filter, zone: zoneName, children }: DayTilesProps) {
  const nowMs = useNow(EVERY_MS);
  const zone = usableZone(zoneName);
  const today = dayIn(zone, nowMs);
  const first = daysBefore(today, 6);
  const often = { everyMs: EVERY_MS, keepsOld: false };
  const query = { ...filter, bucket_ms: String(BUCKET_MS) };
  const series = useQuery(read("/api/v1/usage/series", { params: { query } }, often));
  const ofDays = { ...filter, start_day: first, end_day: today, timezone: zone, group_by: "day" as const };
  const week = useQuery(read("/api/v1/usage/daily", { params: { query: ofDays } }, often));
  const ofMonth = { ...filter, timezone: zone, group_by: "model" as const, limit: "1" };
  const months = useQuery(read("/api/v1/costs/months", { params: { query: ofMonth } }, often));
  const last = useQuery(lastFailures(filter)).data?.[0];
  const day = series.data === undefined ? null : dayFigures(series.data, nowMs);
  const lines = weekLines(week.data ?? [], first);
  const line = (label: string, values: readonly number[]) => ({ values: week.data === undefined ? [] : values, label });
  const isUnpriced = week.data !== undefined && reportTotals(week.data.map(reportFigures)).costUsd === null;
  const spend: SpendOfMonth | undefined = months.data;
  return (
    <div className={classes["tiles"]}>
      <FigureTile
        label={text("spendMonth")}
        isLoading={months.isPending}
        value={formatUsd(isUnpriced && spend?.month_to_date_usd === 0 ? null : spend?.month_to_date_usd)}
        note={isUnpriced ? text("noPriceWhy") : spend === undefined ? "" : spendNote(spend)}
        target={pageTarget("/reports", filter)}
        line={line(text("spendLine"), lines.costUsd)}
      />
      {children}
      <FigureTile
        label={text("requests24h")}
        isLoading={series.isPending}
        value={formatShortCount(day?.requests)}
        note={text("refused24h", { refused: formatShortCount(day?.refused), left: formatShortCount(day?.left) })}
        target={pageTarget("/logs", filter)}
        line={line(text("requestsLine"), lines.requests)}
      />
      <FigureTile
        label={text("failed24h")}
        isLoading={series.isPending}
        value={formatShortCount(day?.failed)}
        note={
          last === undefined ? (
            text("failedShare", { share: formatShare(day?.failedShare) })
          ) : (
            <>
              {text("lastFailure", { status: last.status_code, code: last.error_code })} <Age at={last.ts_ms} />
            </>
          )
        }
        target={pageTarget("/logs", { ...filter, status: "failed" })}
        line={line(text("failedLine"), lines.failed)}
      />
    </div>
  );
}

/** The newest failed requests. */
export const lastFailures = (filter: ObjectFilter) =>
  read(
    "/api/v1/usage/logs",
    { params: { query: { ...filter, status: "failed", limit: "5" } } },
    { everyMs: 20_000, keepsOld: false },
  );
