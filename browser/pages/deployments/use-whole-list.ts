import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { type ReadPath, readPages } from "../../data/reads.ts";

/** As many rows as a page of the API may have. */
const PAGE_ROWS = "1000";

/** A list that is read to its end, so that it can be put in another order; `data` is undefined until its first page is there. */
export function useWholeList<T>(path: ReadPath, query: Readonly<Record<string, string>>, everyMs: number) {
  const pages = useInfiniteQuery(readPages<T>(path, { ...query, limit: PAGE_ROWS }, { everyMs }));
  const { hasNextPage, isFetching, isError, fetchNextPage } = pages;
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [hasNextPage, isFetching, isError, fetchNextPage]);
  const data = useMemo(() => pages.data?.pages.flatMap((page) => page.rows), [pages.data]);
  return { ...pages, data };
}
