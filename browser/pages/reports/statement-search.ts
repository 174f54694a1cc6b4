/** Search parameters of a month's statement. */
import { searchParams, textParam } from "../../data/search-params.ts";

export const statementSearch = searchParams({
  tenant_id: textParam(40),
  /** YYYY-MM; absent: the last whole month. */
  month: textParam(7),
});
