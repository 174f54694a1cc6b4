/** Search parameters of the page `tenants`. */
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

export const tenantsSearch = searchParams({
  ...LIST_PARAMS,
  q: textParam(200),
  status: choiceParam(["active", "suspended", "archived"]),
  group: textParam(200),
});
