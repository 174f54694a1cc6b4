/** What one tenant has used in a period of its own zone: sums, days, models and keys, each as a file too. */
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { dayIn, dayStartMs } from "../../../shared/zone-days.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { Records } from "../../data/api.ts";
import { addressOf, read } from "../../data/reads.ts";
import { commonText, STATE_TEXTS } from "../../messages/common.ts";
import { tenantUsageTexts } from "../../messages/en/tenant-usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatDay } from "../../time/instants.ts";
import { monthBefore, periodBounds, periodFrom, periodLabel, periodParam } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { ZoneProvider } from "../../time/zone-context.tsx";
import { usableZone, zoneLabel } from "../../time/zones.ts";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount, formatShortCount, formatUsd } from "../../ui/format.ts";
import { Grid, Panel, Row, Stack, Tile } from "../../ui/layout.tsx";
import { type SortValues, sortedRows, sortFrom, sortParam } from "../../ui/sorted.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { usageTotals } from "./usage-totals.ts";

const text = texts("tenant-usage", tenantUsageTexts);
const USUAL = { kind: "7d" } as const;
const DAILY = "/api/v1/usage/daily";
const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;
const KEYS_MAX = "1000";

type Usage = Records["DailyUsage"];
type Group = "day" | "model" | "key";

/** What of an address belongs to the usage. */
interface UsageSearch {
  /** As `periodParam` writes it; absent: seven days. */
  readonly period?: string | undefined;
  readonly sort?: string | undefined;
}

interface TenantUsageProps {
  readonly tenant: Pick<Records["Tenant"], "id" | "timezone">;
  readonly search: UsageSearch;
  readonly onSearch: (change: UsageSearch) => void;
}

export function TenantUsage({ tenant, search, onSearch }: TenantUsageProps) {
  const hourMs = useNow(HOUR_MS);
  const zone = usableZone(tenant.timezone);
  const period = periodFrom(search.period ?? "") ?? USUAL;
  const bounds = periodBounds(period.kind === "24h" ? USUAL : period, zone, hourMs);
  const { first, last } = bounds.days ?? { first: "", last: "" };
  const query = { tenant_id: tenant.id, start_day: first, end_day: last, timezone: zone };
  const byDay = useUsage(query, "day");
  const byModel = useUsage(query, "model");
  const byKey = useUsage(query, "key");
  const keyName = useKeyNames(tenant.id);
  const csv = (group: Group, what: string) => (
    <a
      href={addressOf(DAILY, { ...query, group_by: group, format: "csv" })}
      download
      aria-label={text("csvOf", { what })}
    >
      <Download size={14} aria-hidden /> {commonText("csv")}
    </a>
  );
  const order = { param: search.sort, onSort: (sort: string) => onSearch({ sort }) };
  return (
    <ZoneProvider tenantZone={zone} browserZone={zone} choice={null} onChoose={() => undefined} nowMs={hourMs}>
      <Row>
        <SelectField
          label={text("period")}
          value={periodParam(period)}
          onChange={({ target }) => onSearch({ period: target.value })}
          choices={periodChoices(dayIn(zone, hourMs), period)}
        />
        <p>{text("totalsIn", { zone: zoneLabel(zone, hourMs), first: formatDay(first), last: formatDay(last) })}</p>
      </Row>
      <Loaded state={byDay} texts={STATE_TEXTS}>
        {(rows) => <Days rows={rows} zone={zone} range={bounds} csv={csv("day", text("byDay"))} />}
      </Loaded>
      <Panel isFlush title={text("byModel")} actions={csv("model", text("byModel"))}>
        <Loaded state={byModel} texts={STATE_TEXTS}>
          {(rows) => (
            <Uses label={text("byModel")} head={text("model")} rows={rows} nameOf={({ model }) => model} {...order} />
          )}
        </Loaded>
      </Panel>
      <Panel isFlush title={text("byKey")} actions={csv("key", text("byKey"))}>
        <Loaded state={byKey} texts={STATE_TEXTS}>
          {(rows) => <Uses label={text("byKey")} head={text("key")} rows={rows} nameOf={keyName} {...order} />}
        </Loaded>
      </Panel>
    </ZoneProvider>
  );
}

function useUsage(query: Readonly<Record<"tenant_id" | "start_day" | "end_day" | "timezone", string>>, group: Group) {
  return useQuery(read(DAILY, { params: { query: { ...query, group_by: group } } }, { everyMs: EVERY_MS }));
}

/** Periods to choose from: moving ones, the month before, and the one of the address. */
function periodChoices(today: string, shown: NonNullable<ReturnType<typeof periodFrom>>) {
  const offered = [USUAL, { kind: "30d" }, { kind: "month" }, monthBefore(today)] as const;
  const choices = offered.map((period) => ({ value: periodParam(period), label: periodLabel(period) }));
  const own = periodParam(shown);
  return choices.some(({ value }) => value === own) ? choices : [...choices, { value: own, label: periodLabel(shown) }];
}

/** What people call the key of a row. */
function useKeyNames(tenantId: string): (row: Usage) => string {
  const { data } = useQuery(read("/api/v1/keys", { params: { query: { tenant_id: tenantId, limit: KEYS_MAX } } }));
  return useMemo(() => {
    const names = new Map(data?.map(({ id, name, key_prefix }) => [id, name === "" ? `${key_prefix}…` : name]));
    const unknown = (id: string): string =>
      data === undefined || data.length >= Number(KEYS_MAX) ? id : text("keyGone", { id });
    return ({ key_id: id }) => names.get(id) ?? unknown(id);
  }, [data]);
}

function Days({
  rows,
  zone,
  range,
  csv,
}: {
  readonly rows: readonly Usage[];
  readonly zone: string;
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly csv: ReactNode;
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
      <Panel title={text("byDay")} actions={csv}>
        {rows.length === 0 ? (
          <Empty title={text("none")}>{text("noneText")}</Empty>
        ) : (
          <TimeChart title={text("chart")} {...chart} kind="bar" isWhole format={formatShortCount} range={bounds} />
        )}
      </Panel>
    </Stack>
  );
}

interface UsesProps {
  readonly label: string;
  /** Of the column with the names. */
  readonly head: string;
  readonly rows: readonly Usage[];
  readonly nameOf: (row: Usage) => string;
  /** The order that the address says. */
  readonly param: string | undefined;
  readonly onSort: (param: string) => void;
}

/** The rows of one group, in an order. */
function Uses({ label, head, rows, nameOf, param, onSort }: UsesProps) {
  const values: SortValues<Usage> = { ...FIGURES, name: nameOf };
  const sort = sortFrom(param, values);
  const columns: readonly Column<Usage>[] = [
    {
      id: "name",
      head,
      isWide: true,
      isSortable: true,
      cell: (row) => <bdi title={nameOf(row)}>{nameOf(row)}</bdi>,
    },
    ...COLUMNS,
  ];
  return (
    <Table
      label={label}
      columns={columns}
      rows={sortedRows(rows, sort, values)}
      rowKey={({ model, key_id }) => `${key_id} ${model}`}
      sort={sort}
      onSort={(chosen) => onSort(sortParam(chosen))}
      empty={<Empty title={text("none")}>{text("noneText")}</Empty>}
    />
  );
}

const FIGURES = {
  requests: ({ requests }: Usage) => requests,
  errors: ({ error_requests }: Usage) => error_requests,
  inputTokens: ({ input_tokens }: Usage) => input_tokens,
  outputTokens: ({ output_tokens }: Usage) => output_tokens,
  cost: ({ cost_usd }: Usage) => cost_usd,
};
const COLUMNS = (["requests", "errors", "inputTokens", "outputTokens", "cost"] as const).map(
  (id): Column<Usage> => ({
    id,
    head: text(id),
    align: "right",
    isSortable: true,
    cell: (row) => (id === "cost" ? formatUsd : formatCount)(FIGURES[id](row)),
  }),
);
