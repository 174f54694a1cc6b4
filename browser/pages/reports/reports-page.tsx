import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Printer } from "lucide-react";
import { useMemo } from "react";
import { dayStartMs, QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { KeyFilter, ModelFilter, TenantFilter } from "../../forms/filters/found-filters.tsx";
import { PeriodFilter } from "../../forms/filters/period-filter.tsx";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { useListView } from "../../forms/list/use-list-view.tsx";
import { KeptFrom } from "../../forms/usage/kept-from.tsx";
import { changeOf, type ReportFigures, reportFigures, reportTotals } from "../../forms/usage/report-figures.ts";
import { STATE_TEXTS } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { formatDay } from "../../time/instants.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone, ZoneProvider } from "../../time/zone-context.tsx";
import { daysZoneLabel } from "../../time/zones.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount, formatEnergy, formatMass, formatShare, formatShortCount, formatUsd } from "../../ui/format.ts";
import { Filters, Grid, PageHead, Panel, Stack, Tile } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { RowName, reportColumns } from "./report-columns.tsx";
import { REPORT_PERIODS, reportPeriod } from "./report-period.ts";
import { DAILY_PATH, type ReportRow, rowKey } from "./report-words.ts";
import classes from "./reports.module.css";
import { REPORT_GROUPS, type ReportGroup, type ReportsChange, type ReportsSearch } from "./reports-search.ts";
import { Unpriced } from "./unpriced.tsx";

const text = texts("reports", reportsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/reports");
const EVERY_MS = 60_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The figures that the tiles and the chart show, and how. */
const SHOWN = [
  { id: "cost", figure: "costUsd", format: formatUsd, axis: formatUsd },
  { id: "tokens", figure: "tokens", format: formatCount, axis: formatShortCount },
  { id: "requests", figure: "requests", format: formatCount, axis: formatShortCount },
  { id: "energy", figure: "energyWh", format: formatEnergy, axis: formatEnergy },
  { id: "carbon", figure: "co2Grams", format: formatMass, axis: formatMass },
] as const;
const TITLES = { tenant: "byTenant", key: "byKey", model: "byModel", day: "byDay" } as const;
type Shown = (typeof SHOWN)[number];

/** What was used in a period, and what it cost. A `user` sees the own tenant's. */
export function ReportsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { role, tenant_id: own } = useCurrentUser();
  const tenantId = role === "user" ? (own ?? undefined) : idOf(search.tenant_id);
  const tenant = useQuery(
    read("/api/v1/tenants/{id}", { params: { path: { id: tenantId ?? "" } } }, { enabled: tenantId !== undefined }),
  );
  const shown = tenant.data?.id === tenantId?.toLowerCase() ? tenant.data : undefined;
  const change = (changed: ReportsChange): void =>
    void navigate({ search: (before) => changedSearch(before, changed), resetScroll: false });
  return (
    <ZoneProvider
      tenantZone={shown?.timezone ?? null}
      browserZone={Intl.DateTimeFormat().resolvedOptions().timeZone}
      choice={search.zone ?? null}
      onChoose={(zone) => change({ zone })}
      nowMs={useNow(QUARTER_MS)}
    >
      <Report
        search={search}
        tenantId={tenantId}
        tenantName={shown?.name}
        isAdmin={role === "admin"}
        // the tenant's zone decides about the days: they are asked for once it is known
        isReady={tenantId === undefined || !tenant.isPending}
        onChange={change}
      />
    </ZoneProvider>
  );
}

interface ReportProps {
  readonly search: ReportsSearch;
  readonly tenantId: string | undefined;
  readonly tenantName: string | undefined;
  readonly isAdmin: boolean;
  readonly isReady: boolean;
  readonly onChange: (change: ReportsChange) => void;
}

function Report({ search, tenantId, tenantName, isAdmin, isReady, onChange }: ReportProps) {
  const { zone } = useZone();
  const nowMs = useNow(QUARTER_MS);
  const { period, days, range, before } = reportPeriod(search.period, zone, nowMs);
  const groups = REPORT_GROUPS.filter((group) => group !== "tenant" || tenantId === undefined);
  const by = groups.find((group) => group === search.by) ?? groups[0] ?? "model";
  const keyId = idOf(search.key_id);
  const filters = {
    timezone: zone,
    ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
    ...(keyId === undefined ? {} : { key_id: keyId }),
    ...(search.model === undefined ? {} : { model: search.model }),
  };
  const query = { ...filters, start_day: days.first, end_day: days.last, group_by: by };
  const rows = useDaily(query, isReady);
  const daily = useDaily({ ...query, group_by: "day" }, isReady);
  const models = useDaily({ ...query, group_by: "model" }, isReady);
  const earlier = useDaily(
    { ...filters, start_day: before?.first ?? "", end_day: before?.last ?? "", group_by: "day" },
    isReady && before !== null,
  );
  const isFiltered = search.tenant_id !== undefined || search.key_id !== undefined || search.model !== undefined;
  return (
    <Stack>
      <PageHead
        title={pageText("reports")}
        question={pageText("reportsQuestion")}
        actions={
          <>
            <Link
              to="/reports/statement"
              search={tenantId === undefined ? {} : { tenant_id: tenantId }}
              className={classes["statement"]}
            >
              {text("statement")}
            </Link>
            <Button icon={<Printer size={14} aria-hidden />} onClick={() => print()}>
              {text("print")}
            </Button>
            <CsvLink path={DAILY_PATH} query={query} title={text("csvHint")} />
          </>
        }
      />
      <search aria-label={text("filters")} data-screen-only>
        <Filters>
          <PeriodFilter
            period={period}
            kinds={REPORT_PERIODS}
            onPeriod={(chosen) => onChange({ period: chosen })}
            onZone={(chosen) => onChange({ zone: chosen })}
          />
          <SelectField
            label={text("by")}
            value={by}
            choices={groups.map((group) => ({ value: group, label: text(group) }))}
            onChange={({ target }) => onChange({ by: groups.find((group) => group === target.value), sort: undefined })}
          />
          {isAdmin && (
            <TenantFilter
              chosen={tenantId === undefined ? undefined : (tenantName ?? tenantId)}
              onChoose={(tenant_id) => onChange({ tenant_id, key_id: undefined })}
            />
          )}
          <ModelFilter chosen={search.model} onChoose={(model) => onChange({ model })} />
          <KeyFilter keyId={keyId} tenantId={tenantId} onChoose={(key_id) => onChange({ key_id })} />
          {isFiltered && (
            <Button
              tone="quiet"
              onClick={() => onChange({ tenant_id: undefined, key_id: undefined, model: undefined })}
            >
              {text("clear")}
            </Button>
          )}
        </Filters>
      </search>
      <p>
        {tenantName !== undefined && (
          <>
            <bdi>{tenantName}</bdi>.{" "}
          </>
        )}
        {text("daysIn", { zone: daysZoneLabel(zone, range), first: formatDay(days.first), last: formatDay(days.last) })}{" "}
        {before !== null && text("comparedWith", { first: formatDay(before.first), last: formatDay(before.last) })}
      </p>
      <KeptFrom zone={zone} first={days.first} nowMs={nowMs} />
      {/* with the models, whose remark stands above the table: nothing moves when it comes */}
      <Loaded state={models.isPending ? { ...rows, data: undefined } : rows} texts={STATE_TEXTS}>
        {(shown) => (
          <ReportBody
            rows={shown}
            by={by}
            earlier={earlier.data}
            models={models.data}
            daily={daily.data}
            zone={zone}
            range={range}
            search={search}
            isAdmin={isAdmin}
            onChange={onChange}
          />
        )}
      </Loaded>
    </Stack>
  );
}

interface ReportBodyProps extends Pick<ReportProps, "search" | "isAdmin" | "onChange"> {
  readonly rows: readonly ReportRow[];
  readonly by: ReportGroup;
  /** Rows of the days before; undefined: not known. */
  readonly earlier: readonly ReportRow[] | undefined;
  readonly models: readonly ReportRow[] | undefined;
  readonly daily: readonly ReportRow[] | undefined;
  readonly zone: string;
  readonly range: { readonly fromMs: number; readonly toMs: number };
}

function ReportBody(props: ReportBodyProps) {
  const { rows, by, earlier, models, daily, zone, range, search, isAdmin, onChange } = props;
  const lines = useMemo(() => rows.map((row) => ({ row, figures: reportFigures(row) })), [rows]);
  const totals = useMemo(() => reportTotals(lines.map(({ figures }) => figures)), [lines]);
  const columns = useMemo(
    () =>
      reportColumns({
        by,
        totals,
        name: (row) => <RowName row={row} by={by} />,
        hasTenant: isAdmin && search.tenant_id === undefined,
        hasEnergyCost: isAdmin,
      }),
    [by, totals, isAdmin, search.tenant_id],
  );
  const { choice, ...view } = useListView({ rows: lines, columns });
  const measure = SHOWN.find(({ id }) => id === search.show) ?? SHOWN[0];
  return (
    <>
      <Tiles totals={totals} earlier={earlier} />
      <Unpriced models={models} />
      <Panel
        title={text("byDay")}
        actions={
          <SelectField
            label={text("show")}
            isLabelHidden
            value={measure.id}
            choices={SHOWN.map(({ id }) => ({ value: id, label: text(id) }))}
            onChange={({ target }) => onChange({ show: SHOWN.find(({ id }) => id === target.value)?.id })}
          />
        }
      >
        <DayChart rows={daily} measure={measure} zone={zone} range={range} />
      </Panel>
      <Panel isFlush title={text(TITLES[by])} actions={choice}>
        <Table
          isWhole
          label={text(TITLES[by])}
          {...view}
          rows={view.rows ?? lines}
          rowKey={lineKey}
          empty={<Empty title={text("empty")}>{text("emptyText")}</Empty>}
        />
      </Panel>
    </>
  );
}

const lineKey = ({ row }: { readonly row: ReportRow }): string => rowKey(row);

/** The sums, each with the change against the days before. */
function Tiles({
  totals,
  earlier,
}: {
  readonly totals: ReportFigures;
  readonly earlier: readonly ReportRow[] | undefined;
}) {
  const then = earlier === undefined ? null : reportTotals(earlier.map(reportFigures));
  const noteOf = ({ figure, format }: Shown): string => {
    const change = then === null ? null : changeOf(then[figure], totals[figure]);
    if (change === null || then === null) return text("beforeUnknown");
    return text("before", { change: `${change > 0 ? "+" : ""}${formatShare(change)}`, amount: format(then[figure]) });
  };
  return (
    <Grid>
      {SHOWN.map((one) => (
        <Tile key={one.id} label={text(one.id)} value={one.format(totals[one.figure])} note={noteOf(one)} />
      ))}
    </Grid>
  );
}

interface DayChartProps {
  readonly rows: readonly ReportRow[] | undefined;
  readonly measure: Shown;
  readonly zone: string;
  readonly range: { readonly fromMs: number; readonly toMs: number };
}

function DayChart({ rows, measure: { id, figure, axis }, zone, range: { fromMs, toMs } }: DayChartProps) {
  const chart = useMemo(
    () => ({
      atMs: (rows ?? []).map(({ day }) => dayStartMs(zone, day)),
      series: [{ id, label: text(id), values: (rows ?? []).map((row) => reportFigures(row)[figure]) }],
    }),
    [rows, zone, id, figure],
  );
  const range = useMemo(() => ({ fromMs, toMs }), [fromMs, toMs]);
  if (rows !== undefined && rows.length === 0) return <Empty title={text("empty")}>{text("emptyText")}</Empty>;
  return (
    <div className={classes["chart"]}>
      {rows !== undefined && (
        <TimeChart
          title={text(id)}
          {...chart}
          kind="bar"
          isWhole={id === "tokens" || id === "requests"}
          format={axis}
          range={range}
        />
      )}
    </div>
  );
}

/** Rows of the daily rollup; those of another question are none of this one. */
function useDaily(
  query: { readonly start_day: string; readonly end_day: string; readonly group_by: ReportGroup },
  enabled: boolean,
) {
  return useQuery(read(DAILY_PATH, { params: { query } }, { everyMs: EVERY_MS, enabled, keepsOld: false }));
}

/** What the API would refuse is left out, as everything that an address says wrongly. */
function idOf(id: string | undefined): string | undefined {
  return id !== undefined && UUID.test(id) ? id.toLowerCase() : undefined;
}
