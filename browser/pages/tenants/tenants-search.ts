/** Search parameters of the page `tenants`. */
import { choiceParam, searchParams, textParam } from "../../data/search-params.ts";

export const tenantsSearch = searchParams({
  q: textParam(200),
  status: choiceParam(["active", "suspended", "archived"]),
  group: textParam(200),
});
