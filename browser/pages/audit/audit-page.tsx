import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { AUDIT_ENTITIES } from "../../../shared/schema/audit-entities.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { actionNamed, actionText } from "../../forms/audit/action-words.ts";
import classes from "../../forms/audit/audit-words.module.css";
import { type AuditEntry, kindText, ObjectLink, type ObjectNames } from "../../forms/audit/audit-words.tsx";
import { useObjectNames } from "../../forms/audit/use-object-names.ts";
import { withNames } from "../../forms/audit/with-names.ts";
import { DraftField } from "../../forms/filters/draft-field.tsx";
import { PeriodFilter } from "../../forms/filters/period-filter.tsx";
import { changesText } from "../../forms/history/changes.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { commonText } from "../../messages/common.ts";
import { auditTexts } from "../../messages/en/audit.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone, ZoneProvider } from "../../time/zone-context.tsx";
import { Beside } from "../../ui/beside.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatText } from "../../ui/format.ts";
import { Filters, PageHead, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { AuditDetail } from "./audit-detail.tsx";
import { AUDIT_FILTERS, auditPeriod, auditQuery } from "./audit-query.ts";
import type { AuditSearch } from "./audit-search.ts";

const text = texts("audit", auditTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/audit");
const AUDIT_PATH = "/api/v1/audit";
const EVERY_MS = 20_000;
const HOUR_MS = 3_600_000;
const PERIODS = ["24h", "7d", "30d", "month"] as const;

type Change = { readonly [N in keyof AuditSearch]?: AuditSearch[N] | undefined };

/** Who changed what, and from where; one change open beside the list, field by field. */
export function AuditPage() {
  const { zone: choice } = route.useSearch();
  const navigate = route.useNavigate();
  const hourMs = useNow(HOUR_MS);
  return (
    <ZoneProvider
      tenantZone={null}
      browserZone={Intl.DateTimeFormat().resolvedOptions().timeZone}
      choice={choice ?? null}
      onChoose={(zone) => void navigate({ search: (before) => changedSearch(before, { zone }) })}
      nowMs={hourMs}
    >
      <Changes />
    </ZoneProvider>
  );
}

function Changes() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { zone, label } = useZone();
  const query = auditQuery(search, zone, useNow(HOUR_MS));
  const entries = useList<AuditEntry>(AUDIT_PATH, query, { everyMs: EVERY_MS });
  const rows = entries.data;
  const names = useObjectNames();
  const columns = useMemo(() => columnsOf(zone, names), [zone, names]);
  const view = useListView({ rows, columns });
  const change = (changed: Change): void => void navigate({ search: (before) => changedSearch(before, changed) });
  const openId = search.open;
  const opened = rows?.find(({ id }) => String(id) === openId);
  const isFiltered = AUDIT_FILTERS.some((name) => search[name] !== undefined);
  const clear = (): void => change(Object.fromEntries(AUDIT_FILTERS.map((name) => [name, undefined])));
  return (
    <Stack>
      <PageHead
        title={pageText("audit")}
        question={pageText("auditQuestion")}
        actions={
          <>
            {view.choice}
            <CsvLink path={AUDIT_PATH} query={query} title={text("csvHint")} />
          </>
        }
      />
      <AuditFilters search={search} onChange={change} onClear={isFiltered ? clear : undefined} />
      <Beside
        detail={
          openId === undefined
            ? null
            : {
                title: opened === undefined ? text("entry") : actionText(opened.action),
                content:
                  opened === undefined ? (
                    <Empty title={text("gone")}>{text("goneText")}</Empty>
                  ) : (
                    <AuditDetail entry={opened} names={names} onFilter={change} />
                  ),
              }
        }
        label={text("entry")}
        onClose={() => change({ open: undefined })}
      >
        <ListTable
          state={entries}
          view={view}
          title={text("list")}
          note={commonText("timesIn", { zone: label })}
          label={text("list")}
          rowKey={({ id }) => String(id)}
          onOpen={({ id }) => change({ open: String(id) })}
          openKey={openId}
          onEnd={entries.onEnd}
          empty={
            <Empty
              title={text("empty")}
              action={isFiltered && <Button onClick={clear}>{commonText("clearFilters")}</Button>}
            >
              {text("emptyText")}
            </Empty>
          }
        />
      </Beside>
    </Stack>
  );
}

interface AuditFiltersProps {
  readonly search: AuditSearch;
  readonly onChange: (change: Change) => void;
  /** Absent: nothing is filtered by. */
  readonly onClear: (() => void) | undefined;
}

function AuditFilters({ search, onChange, onClear }: AuditFiltersProps) {
  return (
    <search aria-label={text("filters")}>
      <Filters>
        <DraftField
          label={text("who")}
          placeholder={text("actorHint")}
          value={search.actor}
          isFirst
          onDone={(actor) => onChange({ actor })}
        />
        <DraftField
          label={text("what")}
          placeholder={text("actionHint")}
          value={search.action && actionText(search.action)}
          onDone={(action) => onChange({ action: action && actionNamed(action) })}
        />
        <SelectField
          label={text("kind")}
          value={search.entity_type ?? ""}
          onChange={({ target }) => onChange({ entity_type: AUDIT_ENTITIES.find((kind) => kind === target.value) })}
          choices={[
            { value: "", label: commonText("all") },
            ...AUDIT_ENTITIES.map((value) => ({ value, label: kindText(value) })),
          ]}
        />
        <DraftField label={text("objectId")} value={search.entity_id} onDone={(entity_id) => onChange({ entity_id })} />
        <PeriodFilter
          period={auditPeriod(search)}
          kinds={PERIODS}
          onPeriod={(period) => onChange({ period })}
          onZone={(zone) => onChange({ zone })}
        />
        {onClear !== undefined && (
          <Button tone="quiet" onClick={onClear}>
            {commonText("clearFilters")}
          </Button>
        )}
      </Filters>
    </search>
  );
}

function columnsOf(zone: string, names: ObjectNames): readonly ListColumn<AuditEntry>[] {
  return [
    { id: "when", head: text("when"), cell: ({ ts }) => formatInstant(zone, instantOf(ts)) },
    {
      id: "who",
      head: text("who"),
      cell: ({ actor }) => (
        <bdi className={classes["actor"]} title={actor}>
          {actor}
        </bdi>
      ),
    },
    { id: "from", head: text("from"), cell: ({ address }) => formatText(address) },
    {
      id: "what",
      head: text("what"),
      cell: ({ id, action }) => (
        <Link from="/audit" search={(before) => changedSearch(before, { open: String(id) })}>
          {actionText(action)}
        </Link>
      ),
    },
    { id: "object", head: text("object"), cell: (entry) => <ObjectLink entry={entry} names={names} /> },
    {
      id: "changes",
      head: text("changes"),
      isWide: true,
      cell: ({ detail }) => {
        const said = changesText(withNames(detail, names), zone);
        return <bdi title={said}>{said}</bdi>;
      },
    },
  ];
}
