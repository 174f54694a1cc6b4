/** Search parameters of the page `assistant`. */
import { choiceParam, searchParams, textParam } from "../../data/search-params.ts";

export const assistantSearch = searchParams({
  /** A question that is offered, not sent. */
  q: textParam(2000),
  tab: choiceParam(["benchmark"]),
  /** The benchmark that is shown; absent: the newest. */
  benchmark: textParam(40),
});
