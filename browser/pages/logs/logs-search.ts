/** Search parameters of the list of requests. */
import { searchParams, textParam } from "../../data/search-params.ts";

export const logsSearch = searchParams({
  /** The request that is open beside the list. */
  open: textParam(200),
});
