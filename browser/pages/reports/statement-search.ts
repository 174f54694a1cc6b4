/** Search parameters of a month's statement. */
import { listParams, searchParams, textParam } from "../../data/search-params.ts";

export const statementSearch = searchParams({
  tenant_id: textParam(40),
  /** YYYY-MM; absent: the last whole month, or this one if nothing was used in the last. */
  month: textParam(7),
  ...listParams("by_model_"),
  ...listParams("by_key_"),
});

/** Years that a person means: `0002` stands in the field while `2026` is typed. */
const MONTH = /^(19|20)\d{2}-(0[1-9]|1[0-2])$/;

/** True for a month of the calendar, YYYY-MM. */
export function isMonth(month: string | undefined): month is string {
  return month !== undefined && MONTH.test(month);
}
