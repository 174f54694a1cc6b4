/** The requests that the page lists: pages of the ledger, and what is newer than them while the list is live. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { UsageLog } from "../../../shared/schema/usage.ts";
import type { ApiError } from "../../data/api-error.ts";
import { addressOf, readPage, readPages, retries } from "../../data/reads.ts";
import type { LogsQuery } from "./logs-query.ts";
import { type Feed, readTop, rowsOfPages, withNewest } from "./newest-rows.ts";

export const LOGS_PATH = "/api/v1/usage/logs";
const FOLLOW_EVERY_MS = 3000;
/** For the number of those that have come, which is worth less than rows. */
const COUNT_EVERY_MS = 10_000;
const PAGE_ROWS = 100;
/** Of the top, which is read again and again: as many as the API gives, so that few requests reach far. */
const TOP_ROWS = 200;
/** More rows are not kept while new ones arrive; older ones are read again when somebody scrolls there. */
const ROWS_MAX = 5000;

interface FeedOptions {
  /** Whether what arrives is looked for. */
  readonly isLive: boolean;
  /** Whether it is put into the list; otherwise it is counted. */
  readonly isFollowing: boolean;
  /** Whether it stays aside nevertheless, because somebody reads the list. */
  readonly isHeld: boolean;
}

/** The list for a query. */
export function useFeed(query: LogsQuery, { isLive, isFollowing, isHeld }: FeedOptions) {
  const queries = useQueryClient();
  const after = useCallback(
    ({ ts_ms, request_id }: UsageLog, limit: number) =>
      addressOf(LOGS_PATH, { ...query, limit, before_ms: ts_ms, before_request_id: request_id }),
    [query],
  );
  const options = useMemo(
    () => readPages<UsageLog>(LOGS_PATH, { ...query, limit: PAGE_ROWS }, { after: nextOf(after, PAGE_ROWS) }),
    [query, after],
  );
  // read once: what is newer comes from the top, and reading every page again would cost as much as all of them
  const list = useInfiniteQuery({ ...options, staleTime: Number.POSITIVE_INFINITY, refetchOnWindowFocus: false });
  const { data, isPlaceholderData, isFetching } = list;
  const isListed = data !== undefined && !isPlaceholderData;
  const top = useQuery<Feed<UsageLog>, ApiError>({
    queryKey: [LOGS_PATH, "top", query],
    queryFn: async ({ signal }) => {
      const first = addressOf(LOGS_PATH, { ...query, limit: TOP_ROWS });
      const newest = queries.getQueryData(options.queryKey)?.pages[0]?.rows[0];
      return await readTop<UsageLog>(
        newest,
        async (address) => await readPage<UsageLog>(address ?? first, signal, nextOf(after, TOP_ROWS)),
      );
    },
    enabled: isLive && isListed,
    refetchInterval: isFollowing ? FOLLOW_EVERY_MS : COUNT_EVERY_MS,
    gcTime: 0,
    retry: retries,
  });
  const rows = useMemo(() => rowsOfPages(data?.pages ?? []), [data]);
  const merged = useMemo(() => {
    if (!isListed || top.data === undefined || !isLive) return null;
    const feed: Feed<UsageLog> = { rows, next: data.pages.at(-1)?.next ?? null };
    return withNewest(feed, top.data, ROWS_MAX, (row) => after(row, PAGE_ROWS));
  }, [isListed, isLive, data, rows, top.data, after]);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const show = useCallback(() => {
    if (merged === null || merged.fresh.size === 0) return;
    queries.setQueryData(options.queryKey, {
      pages: [merged.feed],
      pageParams: [options.initialPageParam],
    });
    setFresh(merged.fresh);
  }, [merged, queries, options]);
  useEffect(() => {
    // a page on its way would put the list before back in place
    if (isFollowing && !isHeld && !isFetching) show();
  }, [isFollowing, isHeld, isFetching, show]);
  return {
    list,
    rows,
    /** Ids of the rows that came last. */
    fresh,
    /** How many rows have come and are not shown; `isMore`: at least so many. */
    waiting: {
      count: merged?.fresh.size ?? 0,
      isMore: merged !== null && merged.feed === top.data && top.data.next !== null,
    },
    show,
    liveError: isLive ? top.error : null,
    refetchLive: top.refetch,
    isFetchingLive: top.isFetching,
  };
}

/** The address after a page of this many rows, which is the last one when it has fewer. */
function nextOf(after: (row: UsageLog, limit: number) => string, limit: number) {
  return (rows: readonly UsageLog[]): string | null => {
    const last = rows.at(-1);
    return last === undefined || rows.length < limit ? null : after(last, limit);
  };
}
