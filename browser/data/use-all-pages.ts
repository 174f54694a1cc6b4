import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { type ReadPath, readPages } from "./reads.ts";

/** Pages of a list are read up to this many rows; what is longer is not for one view. */
const ROWS_MAX = 10_000;
const PAGE_ROWS = "1000";

/** A list of at most 10,000 rows, whole as soon as all its pages are read. `isWhole` is false until then, and for a longer list. */
export function useAllPages<T>(
  path: ReadPath,
  query: Readonly<Record<string, string | undefined>>,
  options: { readonly everyMs?: number } = {},
) {
  const pages = useInfiniteQuery(readPages<T>(path, { ...query, limit: PAGE_ROWS }, options));
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, isError } = pages;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.rows), [data]);
  const isMore = hasNextPage && (rows?.length ?? 0) < ROWS_MAX;
  useEffect(() => {
    if (isMore && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [isMore, isFetchingNextPage, isError, fetchNextPage]);
  return { ...pages, data: rows, isWhole: data !== undefined && !hasNextPage };
}
