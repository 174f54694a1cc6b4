import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Printer } from "lucide-react";
import { useMemo } from "react";
import { QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { read } from "../../data/reads.ts";
import { changedSearch, idOf } from "../../data/search-params.ts";
import { DraftField } from "../../forms/filters/draft-field.tsx";
import { KeyFilter, ModelFilter, TenantFilter } from "../../forms/filters/found-filters.tsx";
import { PeriodFilter } from "../../forms/filters/period-filter.tsx";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { useListView } from "../../forms/list/use-list-view.tsx";
import { KeptFrom } from "../../forms/usage/kept-from.tsx";
import { OfTenant, type ShownTenant } from "../../forms/usage/of-tenant.tsx";
import { reportFigures, reportTotals } from "../../forms/usage/report-figures.ts";
import { commonText } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { formatDays } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { isRead, useIsLate } from "../../time/use-is-late.ts";
import { useZone } from "../../time/zone-context.tsx";
import { daysZoneLabel } from "../../time/zones.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { Filters, PageHead, Panel, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { BudgetsPanel } from "./budgets-panel.tsx";
import { RowName, reportColumns } from "./report-columns.tsx";
import { type ReportLine, reportLines } from "./report-lines.ts";
import { REPORT_PERIODS, reportPeriod } from "./report-period.ts";
import { DAILY_PATH, type ReportRow, rowKey } from "./report-words.ts";
import classes from "./reports.module.css";
import { REPORT_GROUPS, type ReportGroup, type ReportsChange, type ReportsSearch } from "./reports-search.ts";
import { SHOWN } from "./shown-figures.ts";
import { SpendChart, type SpendChartProps } from "./spend-chart.tsx";
import { type Compared, SpendTiles } from "./spend-tiles.tsx";
import { Unpriced } from "./unpriced.tsx";

const text = texts("reports", reportsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/reports");
const EVERY_MS = 60_000;
const MONTHS_MAX = "10000";
const TAG_NAME = /^[\w.-]{1,64}$/;

const TITLES = {
  tenant: "byTenant",
  key: "byKey",
  model: "byModel",
  endpoint: "byEndpoint",
  end_user: "byEndUser",
  tag: "byTag",
  day: "byDay",
} as const;
/** Longer tables are drawn by the rows in sight, and are not printed whole. */
const WHOLE_ROWS_MAX = 500;

/** What was used in a period, and what it cost. A `user` sees the own tenant's. */
export function ReportsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changed: ReportsChange): void =>
    void navigate({ search: (before) => changedSearch(before, changed), resetScroll: false });
  return (
    <OfTenant tenantId={search.tenant_id} zone={search.zone} onZone={(zone) => change({ zone })}>
      {(shown) => <Report {...shown} search={search} onChange={change} />}
    </OfTenant>
  );
}

interface ReportProps extends ShownTenant {
  readonly search: ReportsSearch;
  readonly onChange: (change: ReportsChange) => void;
}

function Report({ search, tenantId, tenantName, isAdmin, isReady, onChange }: ReportProps) {
  const { zone } = useZone();
  const nowMs = useNow(QUARTER_MS);
  const { period, days, range, before } = reportPeriod(search.period, zone, nowMs);
  const groups = REPORT_GROUPS.filter(
    (group) => (group !== "tenant" || tenantId === undefined) && (group !== "endpoint" || isAdmin),
  );
  const by = groups.find((group) => group === search.by) ?? groups[0] ?? "model";
  const keyId = idOf(search.key_id);
  const filters = {
    timezone: zone,
    ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
    ...(keyId === undefined ? {} : { key_id: keyId }),
    ...(search.model === undefined ? {} : { model: search.model }),
  };
  const tagName = by === "tag" ? TAG_NAME.exec(search.tag_name ?? "")?.[0] : undefined;
  const needsTag = by === "tag" && tagName === undefined;
  const grouped = { ...filters, group_by: by, ...(tagName === undefined ? {} : { tag_name: tagName }) };
  const query = { ...grouped, start_day: days.first, end_day: days.last };
  const rows = useDaily(query, isReady && !needsTag);
  const models = useDaily({ ...filters, start_day: days.first, end_day: days.last, group_by: "model" }, isReady);
  const earlierDays = { ...filters, start_day: before?.first ?? "", end_day: before?.last ?? "" };
  const earlierSums = useDaily({ ...earlierDays, group_by: "day" }, isReady && before !== null);
  const earlier = useDaily({ ...grouped, ...earlierDays }, isReady && before !== null && by !== "day" && !needsTag);
  const months = useMonths(grouped, isReady && period.kind === "month" && !needsTag);
  const isLate = useIsLate();
  const isFiltered = search.tenant_id !== undefined || search.key_id !== undefined || search.model !== undefined;
  return (
    <Stack>
      <PageHead
        title={pageText(isAdmin ? "reports" : "portalUsage")}
        question={pageText(isAdmin ? "reportsQuestion" : "portalUsageQuestion")}
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
            {!needsTag && <CsvLink path={DAILY_PATH} query={query} title={text("csvHint")} />}
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
          {by === "tag" && (
            <DraftField
              label={text("tagName")}
              placeholder={text("tagHint")}
              value={search.tag_name}
              onDone={(tag_name) => onChange({ tag_name })}
            />
          )}
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
              {commonText("clearFilters")}
            </Button>
          )}
        </Filters>
      </search>
      <p>
        {tenantName !== undefined && (
          <>
            <bdi>{tenantName}</bdi>,{" "}
          </>
        )}
        {text("daysIn", { zone: daysZoneLabel(zone, range), days: formatDays(days.first, days.last) })}
        {before !== null && text("comparedWith", { days: formatDays(before.first, before.last) })}
      </p>
      <KeptFrom zone={zone} first={days.first} nowMs={nowMs} />
      {(by === "end_user" || by === "tag" || by === "endpoint") && <p>{text("keptRows")}</p>}
      {needsTag ? (
        <Empty title={text("chooseTag")}>{text("chooseTagText")}</Empty>
      ) : (
        /* with the models, whose remark stands above the table: nothing moves when it comes */
        <Loaded state={models.isPending ? { ...rows, data: undefined } : rows}>
          {(shown) => (
            <ReportBody
              rows={shown}
              by={by}
              compared={{
                earlierSums: earlierSums.data,
                earlier: earlier.data,
                months: months.data,
                days: before,
                isMonth: period.kind === "month",
              }}
              models={models.data}
              chart={{ query, zone, range, isReady }}
              search={search}
              isAdmin={isAdmin}
              onChange={onChange}
            />
          )}
        </Loaded>
      )}
      {isAdmin && tenantId === undefined && (
        <Stack isHidden={!isLate && !needsTag && !(isRead(rows) && isRead(models))}>
          <BudgetsPanel />
        </Stack>
      )}
    </Stack>
  );
}

interface ReportBodyProps extends Pick<ReportProps, "search" | "isAdmin" | "onChange"> {
  readonly rows: readonly ReportRow[];
  readonly by: ReportGroup;
  readonly compared: Compared;
  readonly models: readonly ReportRow[] | undefined;
  readonly chart: Omit<SpendChartProps, "by" | "measure" | "rows">;
}

function ReportBody(props: ReportBodyProps) {
  const { rows, by, compared, models, chart, search, isAdmin, onChange } = props;
  const { earlier, earlierSums, months, days, isMonth } = compared;
  const lines = useMemo((): readonly ReportLine[] => {
    if (by === "day") return rows.map((row) => ({ row, figures: reportFigures(row) }));
    return reportLines(rows, { earlier, months: isMonth ? months?.groups : undefined });
  }, [rows, by, earlier, months, isMonth]);
  const totals = useMemo(() => reportTotals(lines.map(({ figures }) => figures)), [lines]);
  const before = useMemo(() => earlierSums && reportTotals(earlierSums.map(reportFigures)), [earlierSums]);
  const beforeDays = days === null ? text("beforeColumn") : formatDays(days.first, days.last);
  const columns = useMemo(
    () =>
      reportColumns({
        by,
        totals,
        compared: {
          before: beforeDays,
          beforeUsd: before?.costUsd,
          month:
            isMonth && months !== undefined
              ? { lastMonthUsd: months.last_month_usd, forecastUsd: months.forecast_usd }
              : undefined,
        },
        name: (row) => <RowName row={row} by={by} />,
        hasTenant: isAdmin && search.tenant_id === undefined,
        hasEnergyCost: isAdmin,
      }),
    [by, totals, before, beforeDays, months, isMonth, isAdmin, search.tenant_id],
  );
  const { choice, ...view } = useListView({ rows: lines, columns });
  const measure = SHOWN.find(({ id }) => id === search.show) ?? SHOWN[0];
  return (
    <>
      <SpendTiles totals={totals} before={before} compared={compared} />
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
        <SpendChart {...chart} by={by} measure={measure} rows={rows} />
      </Panel>
      <Panel isFlush title={text(TITLES[by])} actions={choice}>
        <Table
          isWhole={lines.length <= WHOLE_ROWS_MAX}
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

const lineKey = ({ row }: ReportLine): string => rowKey(row);

/** Rows of the daily rollup; those of another question are none of this one. */
function useDaily(
  query: { readonly start_day: string; readonly end_day: string; readonly group_by: ReportGroup },
  enabled: boolean,
) {
  return useQuery(read(DAILY_PATH, { params: { query } }, { everyMs: EVERY_MS, enabled, keepsOld: false }));
}

/** This month beside the last one; by day there are only the sums. */
function useMonths({ group_by, ...filters }: { readonly group_by: ReportGroup }, enabled: boolean) {
  const query =
    group_by === "day"
      ? { ...filters, group_by: "model" as const, limit: "1" }
      : { ...filters, group_by, limit: MONTHS_MAX };
  return useQuery(read("/api/v1/costs/months", { params: { query } }, { everyMs: EVERY_MS, enabled, keepsOld: false }));
}
