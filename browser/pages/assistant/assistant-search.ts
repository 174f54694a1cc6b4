/** Search parameters of the page `assistant`. */
import { searchParams, textParam } from "../../data/search-params.ts";

export const assistantSearch = searchParams({
  /** A question that is offered, not sent. */
  q: textParam(2000),
});
