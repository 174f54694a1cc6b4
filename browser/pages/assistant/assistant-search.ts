/** Search parameters of the page `assistant`. */
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

export const assistantSearch = searchParams({
  /** Of the benchmarks. */
  ...LIST_PARAMS,
  /** A question that is offered, not sent. */
  q: textParam(2000),
  tab: choiceParam(["benchmark"]),
  /** The benchmark that is shown; absent: the newest. */
  benchmark: textParam(40),
});
