/** What stands where a read was, while the same read of other parameters is loading. */
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { read } from "./reads.ts";

const PATH = "/api/v1/usage/daily";
const days = (day: string, keepsOld?: boolean) =>
  read(
    PATH,
    { params: { query: { start_day: day, end_day: day, group_by: "day" } } },
    keepsOld === undefined ? {} : { keepsOld },
  );

it.each([
  [undefined, []],
  [true, []],
  [false, undefined],
])("with keepsOld %s it is the old value: %j", (keepsOld, shown) => {
  const queries = new QueryClient();
  queries.setQueryData(days("2026-11-01").queryKey, []);
  // nobody subscribes: nothing is fetched
  const observer = new QueryObserver(queries, days("2026-11-01", keepsOld));
  expect(observer.getCurrentResult().data).toEqual([]);
  observer.setOptions(days("2026-11-02", keepsOld));
  expect(observer.getCurrentResult().data).toEqual(shown);
});
