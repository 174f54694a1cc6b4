import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { ModelFilter, TenantFilter } from "../../forms/filters/found-filters.tsx";
import { PeriodFilter } from "../../forms/filters/period-filter.tsx";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { useListView } from "../../forms/list/use-list-view.tsx";
import { OfTenant, type ShownTenant } from "../../forms/usage/of-tenant.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { commonText } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { serviceTexts } from "../../messages/en/service.ts";
import { texts } from "../../messages/texts.ts";
import { instantOf } from "../../time/instants.ts";
import { useNow } from "../../time/use-clock.tsx";
import { isRead, useIsLate } from "../../time/use-is-late.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatMs, formatShare, formatShortCount } from "../../ui/format.ts";
import { Filters, Grid, PageHead, Panel, Stack, Tile } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { ChangesPanel, useChanges } from "./changes-panel.tsx";
import { ServiceCharts } from "./service-charts.tsx";
import { serviceColumns } from "./service-columns.tsx";
import { SERVICE_GROUPS, type ServiceChange, type ServiceGroup } from "./service-search.ts";
import { type HealthRow, outcomeSums, SERVICE_PERIODS, serviceWindow } from "./service-window.ts";

const text = texts("service", serviceTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/service");
const HEALTH_PATH = "/api/v1/usage/health";
const EVERY_MS = 60_000;
const TITLES = { model: "byModel", tenant: "byTenant", endpoint: "byEndpoint" } as const;

/** How requests ended, how fast they were, and what was changed meanwhile. A `user` sees the own tenant's. */
export function ServicePage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changed: ServiceChange): void =>
    void navigate({ search: (before) => changedSearch(before, changed), resetScroll: false });
  return (
    <OfTenant tenantId={search.tenant_id} zone={search.zone} onZone={(zone) => change({ zone })}>
      {(shown) => <Service {...shown} onChange={change} />}
    </OfTenant>
  );
}

interface ServiceProps extends ShownTenant {
  readonly onChange: (change: ServiceChange) => void;
}

function Service({ tenantId, tenantName, isAdmin, isReady, onChange }: ServiceProps) {
  const search = route.useSearch();
  const { zone } = useZone();
  const nowMs = useNow(QUARTER_MS);
  const window = useMemo(() => serviceWindow(search.period, zone, nowMs), [search.period, zone, nowMs]);
  const groups = SERVICE_GROUPS.filter(
    (group) => (group !== "endpoint" || isAdmin) && (group !== "tenant" || (isAdmin && tenantId === undefined)),
  );
  const by = groups.find((group) => group === search.by) ?? "model";
  const endpoint = search.model === undefined || !isAdmin ? undefined : search.endpoint;
  const query = {
    since_ms: String(window.fromMs),
    ...(window.untilMs === null ? {} : { until_ms: String(window.untilMs) }),
    ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
    ...(search.model === undefined ? {} : { model: search.model }),
    ...(endpoint === undefined ? {} : { endpoint: endpoint === "-" ? "" : endpoint }),
  };
  const overTime = useHealth({ ...query, group_by: "time", bucket_ms: String(window.widthMs) }, isReady);
  const grouped = { ...query, group_by: by };
  const rows = useHealth(grouped, isReady);
  const model = useQuery(
    read(
      "/api/v1/models",
      { params: { query: { q: search.model ?? "", limit: "20" } } },
      { enabled: isAdmin && search.model !== undefined },
    ),
  );
  const modelId = model.data?.find(({ model_name }) => model_name === search.model)?.id;
  const changes = useChanges({
    fromMs: window.fromMs,
    untilMs: window.untilMs,
    of: { tenantId, modelId },
    enabled: isAdmin && (search.model === undefined || !model.isPending),
  });
  const changedAtMs = useMemo(
    () => (changes.data ?? []).map(({ ts }) => instantOf(ts)).filter((atMs) => atMs !== null),
    [changes.data],
  );
  const isLate = useIsLate();
  const isFiltered = (isAdmin && search.tenant_id !== undefined) || search.model !== undefined;
  return (
    <Stack>
      <PageHead
        title={pageText("service")}
        question={pageText(isAdmin ? "serviceQuestion" : "portalServiceQuestion")}
        actions={<CsvLink path={HEALTH_PATH} query={grouped} />}
      />
      <search aria-label={text("filters")}>
        <Filters>
          <PeriodFilter
            period={window.period}
            kinds={SERVICE_PERIODS}
            onPeriod={(period) => onChange({ period })}
            onZone={(chosen) => onChange({ zone: chosen })}
          />
          {isAdmin && (
            <TenantFilter
              chosen={tenantId === undefined ? undefined : (tenantName ?? tenantId)}
              onChoose={(tenant_id) => onChange({ tenant_id })}
            />
          )}
          <ModelFilter chosen={search.model} onChoose={(chosen) => onChange({ model: chosen, endpoint: undefined })} />
          {endpoint !== undefined && (
            <SelectField
              label={text("endpoint")}
              value={endpoint}
              choices={[
                { value: endpoint, label: endpoint === "-" ? text("ownAddress") : endpoint },
                { value: "", label: text("anyEndpoint") },
              ]}
              onChange={({ target }) => onChange({ endpoint: target.value === "" ? undefined : target.value })}
            />
          )}
          {groups.length > 1 && (
            <SelectField
              label={text("by")}
              value={by}
              choices={groups.map((group) => ({ value: group, label: text(group) }))}
              onChange={({ target }) =>
                onChange({ by: groups.find((group) => group === target.value), sort: undefined })
              }
            />
          )}
          {isFiltered && (
            <Button
              tone="quiet"
              onClick={() => onChange({ tenant_id: undefined, model: undefined, endpoint: undefined })}
            >
              {commonText("clearFilters")}
            </Button>
          )}
        </Filters>
      </search>
      <Loaded state={overTime}>
        {(found) => (
          <>
            <OutcomeTiles
              rows={found}
              requests={{
                ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
                ...(search.model === undefined ? {} : { model: search.model }),
                ...(search.period === undefined || search.period === "90d" ? {} : { period: search.period }),
              }}
            />
            <ServiceCharts
              rows={found}
              window={window}
              changedAtMs={changedAtMs}
              show={search.show}
              onChange={onChange}
            />
          </>
        )}
      </Loaded>
      <Stack isHidden={!isLate && !(isRead(overTime) && isRead(rows))}>
        <p>
          {text("sourceTimes", { width: formatMs(window.widthMs) })}{" "}
          {(by === "endpoint" || endpoint !== undefined) && text("sourceEndpoints")}
        </p>
        <Loaded state={rows}>{(found) => <Groups rows={found} by={by} />}</Loaded>
        {isAdmin && <ChangesPanel changes={changes} />}
      </Stack>
    </Stack>
  );
}

interface OutcomeTilesProps {
  readonly rows: readonly HealthRow[];
  /** Filters of the list of these requests. */
  readonly requests: Readonly<Record<string, string>>;
}

function OutcomeTiles({ rows, requests }: OutcomeTilesProps) {
  const sums = useMemo(() => outcomeSums(rows), [rows]);
  const share = (count: number): string => formatShare(sums.requests === 0 ? null : count / sums.requests);
  const listed = (label: string, status?: string): ReactNode => (
    <TargetLink target={pageTarget("/logs", { ...requests, ...(status === undefined ? {} : { status }) })}>
      {label}
    </TargetLink>
  );
  return (
    <Grid>
      <Tile label={listed(text("requests"))} value={formatShortCount(sums.requests)} />
      <Tile label={text("served")} value={share(sums.served)} note={text("servedNote")} />
      {(["refused", "failed", "left"] as const).map((outcome) => (
        <Tile
          key={outcome}
          label={listed(text(outcome), outcome)}
          value={formatShortCount(sums[outcome])}
          note={text(`${outcome}Note`, { share: share(sums[outcome]) })}
        />
      ))}
    </Grid>
  );
}

function Groups({ rows, by }: { readonly rows: readonly HealthRow[]; readonly by: ServiceGroup }) {
  const columns = useMemo(() => serviceColumns(by), [by]);
  const { choice, ...view } = useListView({ rows, columns });
  return (
    <Panel isFlush title={text(TITLES[by])} actions={choice}>
      <Table
        label={text(TITLES[by])}
        {...view}
        rows={view.rows ?? rows}
        rowKey={({ model, tenant_id, endpoint }) => JSON.stringify([model, tenant_id, endpoint])}
        empty={<Empty title={text("empty")}>{text("emptyText")}</Empty>}
      />
    </Panel>
  );
}

/** Rows of one question; those of another are none of this one. */
function useHealth(
  query: { readonly since_ms: string; readonly group_by: "time" | ServiceGroup; readonly bucket_ms?: string },
  enabled: boolean,
) {
  return useQuery(read(HEALTH_PATH, { params: { query } }, { everyMs: EVERY_MS, enabled, keepsOld: false }));
}
