/** Every alert of the last 30 days, page by page. */

import type { Records } from "../../data/api.ts";
import { useList } from "../../data/use-list.ts";
import { DraftField } from "../../forms/filters/draft-field.tsx";
import { PeriodFilter } from "../../forms/filters/period-filter.tsx";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { commonText } from "../../messages/common.ts";
import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";
import { Age, useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { Filters, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { SeverityBadge } from "./alert-words.tsx";
import { type AlertsSearch, type ChangeSearch, SEVERITY_FILTERS, STATE_FILTERS } from "./alerts-search.ts";
import { HISTORY_FILTERS, historyPeriod, historyQuery } from "./history-query.ts";

const text = texts("alerts", alertsTexts);
const PATH = "/api/v1/alerts/history";
const EVERY_MS = 20_000;
const HOUR_MS = 3_600_000;
const PERIODS = ["24h", "7d", "30d"] as const;

type Entry = Records["AlertHistoryEntry"];

interface AlertHistoryProps {
  readonly search: AlertsSearch;
  readonly onChange: ChangeSearch;
  readonly onOpen: (key: string) => void;
}

export function AlertHistory({ search, onChange, onOpen }: AlertHistoryProps) {
  const { zone } = useZone();
  const query = historyQuery(search, zone, useNow(HOUR_MS));
  const entries = useList<Entry>(PATH, query, { everyMs: EVERY_MS });
  const view = useListView({ rows: entries.data, columns: COLUMNS });
  const isFiltered = [...HISTORY_FILTERS, "period" as const].some((name) => search[name] !== undefined);
  const titles = new Map((entries.data ?? []).flatMap(({ kind, title }) => (kind === null ? [] : [[kind, title]])));
  if (search.kind !== undefined && !titles.has(search.kind)) titles.set(search.kind, search.kind);
  const kinds = [...titles].map(([value, label]) => ({ value, label })).toSorted((a, b) => byText(a.label, b.label));
  const clear = (): void =>
    onChange({ severity: undefined, state: undefined, kind: undefined, q: undefined, period: undefined });
  return (
    <Stack>
      <HistoryFilters search={search} onChange={onChange} onClear={isFiltered ? clear : undefined} kinds={kinds} />
      <ListTable
        state={entries}
        view={view}
        title={text("history")}
        actions={
          <>
            {view.choice}
            <CsvLink path={PATH} query={query} title={text("csvHint")} />
          </>
        }
        label={text("historyList")}
        rowKey={({ id }) => String(id)}
        onOpen={({ key }) => onOpen(key)}
        onEnd={entries.onEnd}
        empty={
          isFiltered ? (
            <Empty
              title={text("historyNoMatch")}
              action={<Button onClick={clear}>{commonText("clearFilters")}</Button>}
            >
              {text("historyNoMatchText")}
            </Empty>
          ) : (
            <Empty title={text("historyNone")}>{text("historyNoneText")}</Empty>
          )
        }
      />
    </Stack>
  );
}

interface HistoryFiltersProps extends Pick<AlertHistoryProps, "search" | "onChange"> {
  /** Absent: nothing is filtered by. */
  readonly onClear: (() => void) | undefined;
  /** Alerts to choose from: those that are listed, and the chosen one. */
  readonly kinds: readonly { readonly value: string; readonly label: string }[];
}

function HistoryFilters({ search, onChange, onClear, kinds }: HistoryFiltersProps) {
  return (
    <search aria-label={text("filters")}>
      <Filters>
        <DraftField
          label={text("search")}
          placeholder={text("searchHint")}
          value={search.q}
          isFirst
          onDone={(q) => onChange({ q })}
        />
        <SelectField
          label={text("severity")}
          value={search.severity ?? ""}
          onChange={({ target }) => onChange({ severity: SEVERITY_FILTERS.find((one) => one === target.value) })}
          choices={[
            { value: "", label: text("allSeverities") },
            ...SEVERITY_FILTERS.map((value) => ({ value, label: text(value) })),
          ]}
        />
        <SelectField
          label={text("state")}
          value={search.state ?? ""}
          onChange={({ target }) => onChange({ state: STATE_FILTERS.find((one) => one === target.value) })}
          choices={[
            { value: "", label: text("allStates") },
            ...STATE_FILTERS.map((value) => ({ value, label: text(`state_${value}`) })),
          ]}
        />
        <SelectField
          label={text("kind")}
          value={search.kind ?? ""}
          onChange={({ target }) => onChange({ kind: target.value === "" ? undefined : target.value })}
          choices={[{ value: "", label: text("allKinds") }, ...kinds]}
        />
        <PeriodFilter period={historyPeriod(search)} kinds={PERIODS} onPeriod={(period) => onChange({ period })} />
        {onClear !== undefined && (
          <Button tone="quiet" onClick={onClear}>
            {commonText("clearFilters")}
          </Button>
        )}
      </Filters>
    </search>
  );
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1);

const COLUMNS: readonly ListColumn<Entry>[] = [
  { id: "severity", head: text("severity"), cell: ({ severity }) => <SeverityBadge severity={severity} /> },
  { id: "alert", head: text("alert"), cell: ({ title, key }) => <span title={key}>{title}</span> },
  { id: "detail", head: text("detail"), isWide: true, cell: ({ detail }) => <bdi title={detail}>{detail}</bdi> },
  {
    id: "state",
    head: text("state"),
    cell: ({ state }) => <Badge tone={state === "active" ? "warn" : "neutral"}>{text(`state_${state}`)}</Badge>,
  },
  { id: "since", head: text("since"), cell: ({ since }) => <Age at={since} /> },
  { id: "last", head: text("lastAt"), cell: ({ last_at }) => <Age at={last_at} /> },
  { id: "repeats", head: text("repeats"), align: "right", cell: ({ repeats }) => repeats },
  { id: "key", head: text("key"), isExtra: true, cell: ({ key }) => <bdi>{key}</bdi> },
];
