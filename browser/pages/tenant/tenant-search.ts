/** Search parameters of the page of one tenant. */
import { searchParams, textParam } from "../../data/search-params.ts";

export const tenantSearch = searchParams({
  tab: textParam(40),
});
