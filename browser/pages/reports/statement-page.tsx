/** What one tenant has used in one month of its own zone, on one sheet that can be printed. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Printer } from "lucide-react";
import { useMemo } from "react";
import { isCalendarDay } from "../../../shared/time/timestamp.ts";
import { dayIn } from "../../../shared/time/zone-days.ts";
import type { Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { DraftField } from "../../forms/filters/draft-field.tsx";
import { TenantFilter } from "../../forms/filters/found-filters.tsx";
import { useListView } from "../../forms/list/use-list-view.tsx";
import { KeptFrom } from "../../forms/usage/kept-from.tsx";
import { reportFigures, reportTotals } from "../../forms/usage/report-figures.ts";
import { rowName } from "../../forms/usage/row-name.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant } from "../../time/instants.ts";
import { formatDays, monthBefore, periodBounds } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { daysZoneLabel, usableZone } from "../../time/zones.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount, formatEnergy, formatMass } from "../../ui/format.ts";
import { Facts, Filters, Grid, PageHead, Panel, Stack, Tile } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Usd } from "../../ui/usd.tsx";
import { reportColumns } from "./report-columns.tsx";
import type { ReportLine } from "./report-lines.ts";
import type { Days } from "./report-period.ts";
import { DAILY_PATH, type ReportRow, rowKey } from "./report-words.ts";
import classes from "./reports.module.css";
import { isMonth } from "./statement-search.ts";
import { Unpriced } from "./unpriced.tsx";

const text = texts("reports", reportsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/reports/statement");
const MINUTE_MS = 60_000;

export function StatementPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { role, tenant_id: own } = useCurrentUser();
  const nowMs = useNow(MINUTE_MS);
  const isUnchosen = role === "admin" && search.tenant_id === undefined;
  const spent = useQuery({ ...spendRead(dayIn("UTC", nowMs)), enabled: isUnchosen });
  const tenantId = role === "user" ? (own ?? undefined) : (search.tenant_id ?? mostSpent(spent.data ?? []));
  const tenant = useQuery(
    read("/api/v1/tenants/{id}", { params: { path: { id: tenantId ?? "" } } }, { enabled: tenantId !== undefined }),
  );
  const shown = tenant.data?.id === tenantId?.toLowerCase() ? tenant.data : undefined;
  const isGone = tenant.error?.status === 404 || tenant.error?.status === 400;
  const zone = usableZone(shown?.timezone ?? "UTC");
  const today = dayIn(zone, nowMs);
  const last = monthBefore(today).fromDay.slice(0, 7);
  const lastUsage = useQuery({
    ...usageRead(tenantId ?? "", last, zone, "model"),
    enabled: shown !== undefined && !isMonth(search.month),
  });
  const usual = lastUsage.data?.length === 0 ? today.slice(0, 7) : last;
  const month = isMonth(search.month) ? search.month : usual;
  return (
    <Stack>
      <PageHead
        title={shown === undefined ? text("statement") : <bdi>{text("statementTitle", { tenant: shown.name })}</bdi>}
        actions={
          <>
            <Link to="/reports" search={tenantId === undefined ? {} : { tenant_id: tenantId }}>
              {pageText(role === "admin" ? "reports" : "portalUsage")}
            </Link>
            {shown !== undefined && (
              <Button tone="primary" icon={<Printer size={14} aria-hidden />} onClick={() => print()}>
                {text("print")}
              </Button>
            )}
          </>
        }
      />
      <search aria-label={text("filters")} data-screen-only>
        <Filters>
          {role === "admin" && (
            <TenantFilter
              chosen={tenantId === undefined ? undefined : (shown?.name ?? tenantId)}
              onChoose={(tenant_id) => void navigate({ search: (before) => changedSearch(before, { tenant_id }) })}
            />
          )}
          <DraftField
            label={text("month")}
            type="month"
            value={month}
            onDone={(typed) => {
              if (isMonth(typed))
                void navigate({ search: (before) => changedSearch(before, { month: typed }), replace: true });
            }}
          />
        </Filters>
      </search>
      {tenantId === undefined ? (
        <Loaded state={spent}>
          {() => (
            <Panel>
              <Empty title={text("chooseTenant")}>{text("chooseTenantText")}</Empty>
            </Panel>
          )}
        </Loaded>
      ) : isGone ? (
        <Empty title={text("gone")} action={<Link to="/reports">{pageText("reports")}</Link>}>
          {text("goneText")}
        </Empty>
      ) : (
        <Loaded state={{ ...tenant, data: shown }}>
          {(one) => <Statement tenant={one} month={month} zone={zone} nowMs={nowMs} />}
        </Loaded>
      )}
    </Stack>
  );
}

interface StatementProps {
  readonly tenant: Records["Tenant"];
  /** YYYY-MM. */
  readonly month: string;
  readonly zone: string;
  readonly nowMs: number;
}

function Statement({ tenant, month, zone, nowMs }: StatementProps) {
  const days = daysOfMonth(month);
  const bounds = periodBounds({ kind: "custom", fromDay: days.first, toDay: days.last }, zone, nowMs);
  const isOver = bounds.toMs <= nowMs;
  const byModel = useQuery(usageRead(tenant.id, month, zone, "model"));
  const byKey = useQuery(usageRead(tenant.id, month, zone, "key"));
  return (
    <>
      <div className={classes["parties"]}>
        <Facts
          facts={[
            [text("tenant"), <bdi key="tenant">{tenant.name}</bdi>],
            ...(tenant.organization
              ? [[text("organization"), <bdi key="organization">{tenant.organization}</bdi>] as const]
              : []),
            [text("tenantId"), tenant.id],
          ]}
        />
        <Facts
          facts={[
            [text("period"), formatDays(days.first, days.last)],
            [text("zone"), daysZoneLabel(zone, bounds)],
            [text("made"), formatInstant(zone, nowMs, "minute")],
          ]}
        />
      </div>
      {!isOver && <Notice tone="warn">{text("notOver")}</Notice>}
      <KeptFrom zone={zone} first={days.first} nowMs={nowMs} />
      <Loaded state={byModel}>
        {(ofModels) => (
          <Loaded state={byKey}>
            {(ofKeys) => (
              <>
                <StatementRows rows={ofModels} by="model" of={`${tenant.id}-${month}`} />
                <StatementRows rows={ofKeys} by="key" of={`${tenant.id}-${month}`} />
                <p className={classes["notes"]}>{text("rounding")}</p>
              </>
            )}
          </Loaded>
        )}
      </Loaded>
    </>
  );
}

/** What each tenant has used since the month before. */
function spendRead(today: string) {
  const query = { start_day: monthBefore(today).fromDay, end_day: today, timezone: "UTC", group_by: "tenant" as const };
  return read(DAILY_PATH, { params: { query } });
}

/** The tenant whose statement is worth most to read first. */
function mostSpent(rows: readonly ReportRow[]): string | undefined {
  const spendOf = (row: ReportRow): number => reportFigures(row).costUsd ?? 0;
  return rows.toSorted((a, b) => spendOf(b) - spendOf(a) || b.requests - a.requests)[0]?.tenant_id;
}

/** What a tenant used in a month. */
function usageRead(tenantId: string, month: string, zone: string, by: "model" | "key") {
  const { first, last } = daysOfMonth(month);
  const query = { tenant_id: tenantId, start_day: first, end_day: last, timezone: zone, group_by: by };
  return read(DAILY_PATH, { params: { query } }, { keepsOld: false });
}

/** A table with its totals; that by model tells the sums of the month, and what they lack. */
function StatementRows({
  rows,
  by,
  of,
}: {
  readonly rows: readonly ReportRow[];
  readonly by: "model" | "key";
  /** Whose month it is, for the name of its file. */
  readonly of: string;
}) {
  const lines = useMemo((): readonly ReportLine[] => rows.map((row) => ({ row, figures: reportFigures(row) })), [rows]);
  const totals = useMemo(() => reportTotals(lines.map(({ figures }) => figures)), [lines]);
  const columns = useMemo(
    () =>
      reportColumns({
        by,
        totals,
        name: (row) => <bdi>{rowName(row, by)}</bdi>,
        hasTenant: false,
        hasEnergyCost: false,
      }),
    [by, totals],
  );
  const title = text(by === "model" ? "byModel" : "byKey");
  const { choice, ...view } = useListView({
    rows: lines,
    columns,
    prefix: `by_${by}_`,
    label: title,
    file: `statement-${of}-${by}`,
  });
  return (
    <>
      {by === "model" && (
        <>
          <Grid>
            <Tile label={text("cost")} value={<Usd usd={totals.costUsd} />} />
            <Tile label={text("requests")} value={formatCount(totals.requests)} />
            <Tile label={text("tokens")} value={formatCount(totals.tokens)} />
            {rows.length > 0 && (
              <>
                <Tile label={text("energy")} value={formatEnergy(totals.energyWh)} />
                <Tile label={text("carbon")} value={formatMass(totals.co2Grams)} />
              </>
            )}
          </Grid>
          <Unpriced models={rows} />
          {totals.energyWh === null && <p className={classes["notes"]}>{text("energyNone")}</p>}
        </>
      )}
      <Panel isFlush title={title} actions={choice}>
        <Table
          isWhole
          label={title}
          {...view}
          rows={view.rows ?? lines}
          rowKey={keyOfLine}
          empty={<Empty title={text("empty")} />}
        />
      </Panel>
    </>
  );
}

const keyOfLine = ({ row }: ReportLine): string => rowKey(row);

/** The first and the last day of a month, YYYY-MM. */
function daysOfMonth(month: string): Days {
  const last = ["31", "30", "29", "28"].find((day) => isCalendarDay(`${month}-${day}`)) ?? "28";
  return { first: `${month}-01`, last: `${month}-${last}` };
}
