import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { dayStartMs, QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatDays, periodBounds, periodFrom } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { isRead, useIsLate } from "../../time/use-is-late.ts";
import { ZoneProvider } from "../../time/zone-context.tsx";
import { daysZoneLabel, usableZone } from "../../time/zones.ts";
import { formatCount, formatShortCount } from "../../ui/format.ts";
import { Grid, Panel, Row, Stack, Tile } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Usd } from "../../ui/usd.tsx";
import { PeriodFilter } from "../filters/period-filter.tsx";
import { CsvLink } from "../list/csv-link.tsx";
import { KeptFrom } from "./kept-from.tsx";
import { reportFigures, reportTotals } from "./report-figures.ts";

const text = texts("usage", usageTexts);
const EVERY_MS = 60_000;

const USUAL = { kind: "7d" } as const;
const KINDS = ["7d", "30d", "month"] as const;
const DAILY = "/api/v1/usage/daily";

interface UsageViewProps {
  /** Whose days these are. */
  readonly zone: string;
  /** The period of the address; what is no period of days is the last week. */
  readonly period: string | undefined;
  readonly onPeriod: (period: string) => void;
  /** What of the usage is shown. */
  readonly filter: { readonly tenant_id?: string; readonly model?: string };
  /** What else is shown of these days; it gets the query of a usage read. */
  readonly children: (
    query: UsageViewProps["filter"] & {
      readonly start_day: string;
      readonly end_day: string;
      readonly timezone: string;
    },
  ) => ReactNode;
}

/** What was used in some days of a zone, of a tenant or of a model. */
export function UsageView({ zone: zoneName, period: param, onPeriod, filter, children }: UsageViewProps) {
  const nowMs = useNow(QUARTER_MS);
  const zone = usableZone(zoneName);
  const asked = periodFrom(param ?? "");
  const period = asked === null || asked.kind === "24h" ? USUAL : asked;
  const bounds = periodBounds(period, zone, nowMs);
  const { first, last } = bounds.days ?? { first: "", last: "" };
  const query = { ...filter, start_day: first, end_day: last, timezone: zone };
  const byDay = useUsage(query, "day");
  const isLate = useIsLate();
  return (
    <ZoneProvider tenantZone={zone} browserZone={zone} choice={null} onChoose={() => undefined} nowMs={nowMs}>
      <Row>
        <PeriodFilter period={period} kinds={KINDS} onPeriod={onPeriod} />
        <p>{text("totalsIn", { zone: daysZoneLabel(zone, bounds), days: formatDays(first, last) })}</p>
      </Row>
      <KeptFrom zone={zone} first={first} nowMs={nowMs} />
      <Loaded state={byDay}>
        {(rows) => (
          <UsageDays
            rows={rows}
            zone={zone}
            range={bounds}
            csv={<UsageCsv query={query} group="day" what={text("byDay")} />}
          />
        )}
      </Loaded>
      <Stack isHidden={!isLate && !isRead(byDay)}>{children(query)}</Stack>
    </ZoneProvider>
  );
}

/** The days, and what of their usage is shown, by the names of the API. */
export type UsageQuery = Parameters<UsageViewProps["children"]>[0];
type Group = "day" | "model" | "key";

/** Usage of a query, by group; none while it is read. */
export function useUsage(query: UsageQuery, group: Group) {
  return useQuery(
    read(DAILY, { params: { query: { ...query, group_by: group } } }, { everyMs: EVERY_MS, keepsOld: false }),
  );
}

/** The same figures as a file. */
export function UsageCsv({
  query,
  group,
  what,
}: {
  readonly query: UsageQuery;
  readonly group: Group;
  readonly what: string;
}) {
  return <CsvLink path={DAILY} query={{ ...query, group_by: group }} title={text("csvOf", { what })} />;
}

interface UsageDaysProps {
  /** By day. */
  readonly rows: readonly Records["DailyUsage"][];
  readonly zone: string;
  /** Of the chart. */
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly csv: ReactNode;
}

/** The sums of some days of a zone, and the tokens of each day. */
function UsageDays({ rows, zone, range: { fromMs, toMs }, csv }: UsageDaysProps) {
  const totals = reportTotals(rows.map(reportFigures));
  const chart = useMemo(
    () => ({
      atMs: rows.map(({ day }) => dayStartMs(zone, day)),
      series: [
        { id: "input", label: text("inputTokens"), values: rows.map(({ input_tokens }) => input_tokens) },
        { id: "output", label: text("outputTokens"), values: rows.map(({ output_tokens }) => output_tokens) },
      ],
    }),
    [rows, zone],
  );
  const bounds = useMemo(() => ({ fromMs, toMs }), [fromMs, toMs]);
  return (
    <Stack>
      <Grid>
        <Tile label={text("requests")} value={formatCount(totals.requests)} />
        <Tile label={text("failed")} value={formatCount(totals.failed)} />
        <Tile label={text("refused")} value={formatCount(totals.refused)} />
        <Tile label={text("tokens")} value={formatCount(totals.tokens)} />
        <Tile label={text("cost")} value={<Usd usd={totals.costUsd} />} />
        <Tile label={text("cacheHits")} value={formatCount(totals.cacheHits)} />
      </Grid>
      <Panel title={text("byDay")} actions={csv}>
        {rows.length === 0 ? (
          <Empty title={text("noUsage")}>{text("noUsageText")}</Empty>
        ) : (
          <TimeChart
            title={text("usageChart")}
            {...chart}
            kind="bar"
            isWhole
            format={formatShortCount}
            range={bounds}
          />
        )}
      </Panel>
    </Stack>
  );
}
