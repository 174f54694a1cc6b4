import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from "react";
import { QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { commonText, STATE_TEXTS } from "../../messages/common.ts";
import { logViewsTexts } from "../../messages/en/log-views.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone, ZoneProvider } from "../../time/zone-context.tsx";
import { Beside } from "../../ui/beside.tsx";
import { Button } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { PageHead, Panel, Stack } from "../../ui/layout.tsx";
import { Empty, Failure, Loaded } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { CompareBar, CompareBox, CompareHead, comparedIds, toggledCompare } from "./compare-choice.tsx";
import { filterName, filterValue } from "./filter-words.ts";
import { chosenColumns, type SeenLog, tableColumns } from "./log-columns.tsx";
import { LogFilters } from "./log-filters.tsx";
import { LiveState, LogActions } from "./log-toolbar.tsx";
import { LogTotals } from "./log-totals.tsx";
import classes from "./logs-page.module.css";
import { filtersOf, isOver, type LogsQuery, logsQuery, NO_FILTERS, periodOf, windowOfSearch } from "./logs-query.ts";
import { type LogsSearch, logsSearch, type SearchChanges } from "./logs-search.ts";
import { RequestsNow } from "./requests-now.tsx";
import { useFeed } from "./use-feed.ts";

const text = texts("logs", logsTexts);
const viewText = texts("log-views", logViewsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/logs");
const HOUR_MS = 3_600_000;
/** Loaded when the first request is opened: sentences and waterfall are as large as the list. */
const RequestTitle = lazy(async () => ({ default: (await import("./request-detail.tsx")).RequestTitle }));
const RequestDetail = lazy(async () => ({ default: (await import("./request-detail.tsx")).RequestDetail }));
/** Loaded beside the list, which is read first. */
const LogCounts = lazy(async () => ({ default: (await import("./log-counts.tsx")).LogCounts }));
const ComparePanel = lazy(async () => ({ default: (await import("./compare-panel.tsx")).ComparePanel }));
const FILTER_WORDS = { name: filterName, value: filterValue };

/** Requests with filters, live; one of them open beside the list. */
export function LogsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { role, tenant_id: ownTenant } = useCurrentUser();
  const change = useCallback(
    (changes: SearchChanges, replace = false) =>
      void navigate({ search: (before) => logsSearch({ ...before, ...changes }), replace, resetScroll: false }),
    [navigate],
  );
  const tenantId = role === "user" ? (ownTenant ?? undefined) : filtersOf(search, role).tenant_id;
  const tenant = useQuery(
    read("/api/v1/tenants/{id}", { params: { path: { id: tenantId ?? "" } } }, { enabled: tenantId !== undefined }),
  );
  const shownTenant = tenant.data?.id === tenantId?.toLowerCase() ? tenant.data : undefined;
  const hourMs = useNow(HOUR_MS);
  const chooseZone = useCallback((zone: NonNullable<LogsSearch["zone"]>) => change({ zone }), [change]);
  return (
    <ZoneProvider
      tenantZone={shownTenant?.timezone ?? null}
      browserZone={Intl.DateTimeFormat().resolvedOptions().timeZone}
      choice={search.zone ?? null}
      onChoose={chooseZone}
      nowMs={hourMs}
    >
      <Requests search={search} role={role} tenantId={tenantId} tenantName={shownTenant?.name} onChange={change} />
    </ZoneProvider>
  );
}

interface RequestsProps {
  readonly search: LogsSearch;
  readonly role: "admin" | "user";
  /** Whose requests are listed; undefined: those of all tenants. */
  readonly tenantId: string | undefined;
  readonly tenantName: string | undefined;
  readonly onChange: (changes: SearchChanges, replace?: boolean) => void;
}

function Requests({ search, role, tenantId, tenantName, onChange }: RequestsProps) {
  const { zone } = useZone();
  const query = useQueryOf(search, role, zone);
  const [isAtTop, setAtTop] = useState(true);
  const [isRoomy] = useState(() => matchMedia("(min-width: 861px)").matches);
  const box = useRef<HTMLDivElement>(null);
  const isPast = isOver(query, useNow(QUARTER_MS));
  const isFollowing = search.follow === true;
  const compared = comparedIds(search);
  const isHeld = search.open !== undefined || compared.length > 0 || !isAtTop;
  const feed = useFeed(query, { isLive: !isPast, isFollowing, isHeld });
  const { list, rows, fresh } = feed;
  const chosen = useMemo(() => chosenColumns(search, role), [search, role]);
  const toggle = useCallback(
    (id: string) => onChange({ compare: toggledCompare(search, id) }, true),
    [onChange, search],
  );
  const compareKey = compared.join();
  const isBeside = search.open !== undefined || compared.length === 2;
  const columns = useMemo(
    () => [
      {
        id: "compare",
        head: <CompareHead />,
        cell: ({ request_id: id }: SeenLog) => (
          <CompareBox id={id} isChosen={compareKey.split(",").includes(id)} onToggle={toggle} />
        ),
      },
      ...tableColumns(isBeside && search.columns === undefined ? chosen.filter(({ id }) => !ALONE.has(id)) : chosen),
    ],
    [chosen, isBeside, search.columns, compareKey, toggle],
  );
  const { hasNextPage, isFetching, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const open = useCallback(
    (row: SeenLog) => onChange({ open: row.request_id }, search.open !== undefined),
    [onChange, search.open],
  );
  const isComparing = compared.length === 2;
  const close = useCallback(
    () => onChange(isComparing ? { compare: undefined } : { open: undefined }),
    [onChange, isComparing],
  );
  const isMarked = useCallback(({ request_id }: SeenLog) => fresh.has(request_id), [fresh]);
  const showNew = (): void => {
    feed.show();
    setAtTop(true);
    box.current?.querySelector(`section[aria-label="${text("list")}"]`)?.scrollTo({ top: 0 });
  };
  const openId = search.open;
  const detail =
    openId === undefined ? null : { requestId: openId, listed: rows.find((row) => row.request_id === openId), role };
  const isFiltered = Object.keys(filtersOf(search, role)).length > 0 || windowOfSearch(search) !== null;
  const showsFacets = search.facets === undefined ? isRoomy && !isBeside : search.facets === "on";
  const isListed = list.isFetched && !list.isPlaceholderData;
  return (
    <>
      <PageHead
        title={pageText("logs")}
        question={pageText("logsQuestion")}
        actions={<LogActions query={query} search={search} role={role} onChange={onChange} />}
      />
      <LogFilters search={search} role={role} tenantName={tenantName} onChange={onChange} />
      <Beside
        detail={
          isComparing
            ? {
                title: viewText("compare"),
                content: (
                  <Suspense fallback={null}>
                    <ComparePanel ids={[compared[0] ?? "", compared[1] ?? ""]} rows={rows} />
                  </Suspense>
                ),
              }
            : detail === null
              ? null
              : {
                  title: (
                    <Suspense fallback={text("request")}>
                      <RequestTitle {...detail} />
                    </Suspense>
                  ),
                  content: (
                    <Suspense fallback={null}>
                      <RequestDetail key={detail.requestId} {...detail} />
                    </Suspense>
                  ),
                }
        }
        label={isComparing ? viewText("compare") : text("request")}
        onClose={close}
      >
        <Stack>
          <Panel>
            <div className={classNames(classes["counts"], showsFacets && classes["withFacets"])}>
              <Suspense fallback={null}>
                <LogCounts
                  query={query}
                  search={search}
                  isListed={isListed}
                  isShown={showsFacets}
                  words={FILTER_WORDS}
                  onChange={onChange}
                />
              </Suspense>
            </div>
          </Panel>
          <Panel isFlush>
            <div ref={box}>
              <RequestsNow tenantId={tenantId} />
              <div className={classes["bar"]}>
                <LogTotals query={query} isListed={isListed} />
                <LiveState
                  isFollowing={isFollowing}
                  isOver={isPast}
                  isHeld={isHeld}
                  hasFailed={feed.liveError !== null || list.error !== null}
                  waiting={feed.waiting}
                  onShow={showNew}
                  onFollow={(follows) => onChange({ follow: follows ? true : undefined })}
                />
                {compared.length === 1 && <CompareBar onStop={() => onChange({ compare: undefined }, true)} />}
              </div>
              {feed.liveError !== null && (
                <Failure
                  title={STATE_TEXTS.stale}
                  error={feed.liveError}
                  onRetry={feed.refetchLive}
                  isRetrying={feed.isFetchingLive}
                />
              )}
              <Loaded state={list} stale={text("moreFailed")}>
                {() => (
                  <Table<SeenLog>
                    label={text("list")}
                    columns={columns}
                    rows={rows}
                    rowKey={rowKey}
                    onOpen={open}
                    openKey={openId}
                    isMarked={isMarked}
                    onTop={setAtTop}
                    onEnd={onEnd}
                    empty={
                      <Empty
                        title={text("emptyTitle")}
                        action={
                          isFiltered && (
                            <Button onClick={() => onChange(NO_FILTERS)}>{commonText("clearFilters")}</Button>
                          )
                        }
                      >
                        {text(isFiltered ? "emptyFiltered" : "emptyPeriod")}
                      </Empty>
                    }
                  />
                )}
              </Loaded>
            </div>
          </Panel>
        </Stack>
      </Beside>
    </>
  );
}

/** Left out beside an open request, which says them all. */
const ALONE: ReadonlySet<string> = new Set(["queue", "first", "total"]);
const rowKey = ({ request_id }: SeenLog): string => request_id;

/** The query of the address. The clock is read when the filters change, so that the list does not begin anew by itself. */
function useQueryOf(search: LogsSearch, role: "admin" | "user", zone: string): LogsQuery {
  const told = JSON.stringify([periodOf(search), windowOfSearch(search), filtersOf(search, role), zone]);
  const kept = useRef<{ readonly told: string; readonly query: LogsQuery } | null>(null);
  if (kept.current?.told !== told) kept.current = { told, query: logsQuery(search, role, zone, serverNowMs()) };
  return kept.current.query;
}
