import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { dayStartMs } from "../../../shared/zone-days.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { STATE_TEXTS } from "../../messages/common.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatDay } from "../../time/instants.ts";
import { periodBounds } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { ZoneProvider } from "../../time/zone-context.tsx";
import { usableZone, zoneLabel } from "../../time/zones.ts";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount, formatShortCount, formatUsd } from "../../ui/format.ts";
import { Grid, Panel, Row, Stack, Tile } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { usageTotals } from "./usage-totals.ts";

const text = texts("usage", usageTexts);
const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;

/** How many days are shown, as it stands in the address. */
type ShownDays = "7" | "30";

interface UsageViewProps {
  /** Whose days these are. */
  readonly zone: string;
  readonly days: ShownDays;
  readonly onDays: (days: ShownDays) => void;
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

/** What was used in the last days of a zone, of a tenant or of a model. */
export function UsageView({ zone: zoneName, days, onDays, filter, children }: UsageViewProps) {
  const hourMs = useNow(HOUR_MS);
  const zone = usableZone(zoneName);
  const bounds = periodBounds({ kind: days === "7" ? "7d" : "30d" }, zone, hourMs);
  const { first, last } = bounds.days ?? { first: "", last: "" };
  const query = { ...filter, start_day: first, end_day: last, timezone: zone };
  const byDay = useQuery(
    read("/api/v1/usage/daily", { params: { query: { ...query, group_by: "day" } } }, { everyMs: EVERY_MS }),
  );
  return (
    <ZoneProvider tenantZone={zone} browserZone={zone} choice={null} onChoose={() => undefined} nowMs={hourMs}>
      <Row>
        <SelectField
          label={text("period")}
          value={days}
          onChange={({ target }) => onDays(target.value === "30" ? "30" : "7")}
          choices={[
            { value: "7", label: text("usage7d") },
            { value: "30", label: text("usage30d") },
          ]}
        />
        <p>{text("totalsIn", { zone: zoneLabel(zone, hourMs), first: formatDay(first), last: formatDay(last) })}</p>
      </Row>
      <Loaded state={byDay} texts={{ ...STATE_TEXTS, failed: text("usageFailed") }}>
        {(rows) => <UsageDays rows={rows} zone={zone} range={bounds} />}
      </Loaded>
      {children(query)}
    </ZoneProvider>
  );
}

interface UsageDaysProps {
  /** By day. */
  readonly rows: readonly Records["DailyUsage"][];
  readonly zone: string;
  /** Of the chart. */
  readonly range: { readonly fromMs: number; readonly toMs: number };
}

/** The sums of some days of a zone, and the tokens of each day. */
function UsageDays({ rows, zone, range: { fromMs, toMs } }: UsageDaysProps) {
  const totals = usageTotals(rows);
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
        <Tile label={text("errors")} value={formatCount(totals.errors)} />
        <Tile label={text("tokens")} value={formatCount(totals.tokens)} />
        <Tile label={text("cost")} value={formatUsd(totals.costUsd)} />
        <Tile label={text("cacheHits")} value={formatCount(totals.cacheHits)} />
      </Grid>
      <Panel title={text("byDay")}>
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
