import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { dayStartMs } from "../../../shared/zone-days.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
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
import { type Column, Table } from "../../ui/table.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";
import { usageTotals } from "./usage-totals.ts";

const text = texts("tenant", tenantTexts);
const route = getRouteApi("/signed-in/tenants/$tenantId");
const stateTexts = {
  loading: text("loading"),
  failed: text("usageFailed"),
  stale: text("stale"),
  retry: text("retry"),
};
const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;

type Usage = Records["DailyUsage"];

/** What the tenant has used in the last days of its own zone. */
export function UsageTab({ tenant }: TenantTabProps) {
  const { days = "7" } = route.useSearch();
  const navigate = useNavigate({ from: "/tenants/$tenantId" });
  const hourMs = useNow(HOUR_MS);
  const zone = usableZone(tenant.timezone);
  const bounds = periodBounds({ kind: days === "7" ? "7d" : "30d" }, zone, hourMs);
  const { first, last } = bounds.days ?? { first: "", last: "" };
  const query = { tenant_id: tenant.id, start_day: first, end_day: last, timezone: zone };
  const byDay = useQuery(
    read("/api/v1/usage/daily", { params: { query: { ...query, group_by: "day" } } }, { everyMs: EVERY_MS }),
  );
  const byModel = useQuery(
    read("/api/v1/usage/daily", { params: { query: { ...query, group_by: "model" } } }, { everyMs: EVERY_MS }),
  );
  return (
    <ZoneProvider tenantZone={zone} browserZone={zone} choice={null} onChoose={() => undefined} nowMs={hourMs}>
      <Row>
        <SelectField
          label={text("period")}
          value={days}
          onChange={({ target }) =>
            void navigate({
              search: (before) => changedSearch(before, { days: target.value === "30" ? "30" : "7" }),
              replace: true,
            })
          }
          choices={[
            { value: "7", label: text("usage7d") },
            { value: "30", label: text("usage30d") },
          ]}
        />
        <p>{text("totalsIn", { zone: zoneLabel(zone, hourMs), first: formatDay(first), last: formatDay(last) })}</p>
      </Row>
      <Loaded state={byDay} texts={stateTexts}>
        {(rows) => <Days rows={rows} zone={zone} range={bounds} />}
      </Loaded>
      <Panel isFlush title={text("byModel")}>
        <Loaded state={byModel} texts={stateTexts}>
          {(rows) => (
            <Table
              label={text("byModel")}
              columns={MODEL_COLUMNS}
              rows={rows}
              rowKey={({ model }) => model}
              empty={<Empty title={text("noUsage")}>{text("noUsageText")}</Empty>}
            />
          )}
        </Loaded>
      </Panel>
    </ZoneProvider>
  );
}

function Days({
  rows,
  zone,
  range,
}: {
  readonly rows: readonly Usage[];
  readonly zone: string;
  readonly range: { readonly fromMs: number; readonly toMs: number };
}) {
  const totals = usageTotals(rows);
  const { fromMs, toMs } = range;
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

const MODEL_COLUMNS: readonly Column<Usage>[] = [
  { id: "model", head: text("model"), isWide: true, cell: ({ model }) => <bdi title={model}>{model}</bdi> },
  { id: "requests", head: text("requests"), align: "right", cell: ({ requests }) => formatCount(requests) },
  { id: "errors", head: text("errors"), align: "right", cell: ({ error_requests }) => formatCount(error_requests) },
  { id: "input", head: text("inputTokens"), align: "right", cell: ({ input_tokens }) => formatCount(input_tokens) },
  { id: "output", head: text("outputTokens"), align: "right", cell: ({ output_tokens }) => formatCount(output_tokens) },
  { id: "cost", head: text("cost"), align: "right", cell: ({ cost_usd }) => formatUsd(cost_usd) },
];
