import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { type ReadPath, readPages } from "./reads.ts";

/** A list is read to its end up to this many rows; what is longer is not for one view. */
const ROWS_MAX = 10_000;
const PAGE_ROWS = "200";
/** As many rows as a page of the API may have. */
const WHOLE_PAGE_ROWS = "1000";

interface ListOptions {
  /** Milliseconds between two reads while the tab is seen. */
  readonly everyMs?: number;
  /** Reads at most 10,000 rows without being asked, such as for an order that is not the server's. */
  readonly readsAll?: boolean;
}

/**
 * A list page by page, the next one when `onEnd` is called; or all of it. `isWhole`: there are no further rows. `isCut`: there
 * are more rows than are read for one view. `isPart`: what is to be read whole is not yet.
 */
export function useList<T>(
  path: ReadPath,
  query: Readonly<Record<string, string | undefined>>,
  { everyMs, readsAll = false }: ListOptions = {},
) {
  const limit = readsAll ? WHOLE_PAGE_ROWS : PAGE_ROWS;
  const pages = useInfiniteQuery(readPages<T>(path, { ...query, limit }, everyMs === undefined ? {} : { everyMs }));
  const { data: read, hasNextPage, isFetching, isError, fetchNextPage } = pages;
  const data = useMemo(() => read?.pages.flatMap((page) => page.rows), [read]);
  const isCut = readsAll && hasNextPage && (data?.length ?? 0) >= ROWS_MAX;
  const readsOn = readsAll && hasNextPage && !isCut && !isFetching && !isError;
  useEffect(() => {
    if (readsOn) void fetchNextPage();
  }, [readsOn, fetchNextPage]);
  const onEnd = useCallback(() => {
    if (!readsAll && hasNextPage && !isFetching) void fetchNextPage();
  }, [readsAll, hasNextPage, isFetching, fetchNextPage]);
  const isPart = readsAll && hasNextPage && !isCut;
  return { ...pages, data, onEnd, isCut, isPart, isWhole: data !== undefined && !hasNextPage };
}
