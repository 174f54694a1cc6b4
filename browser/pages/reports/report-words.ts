/** Where the rows of a report come from, and which is which. */
import type { Records } from "../../data/api.ts";
import type { GroupOfRow } from "../../forms/usage/row-name.ts";

export type ReportRow = Records["DailyUsage"];

/** The path that every figure of a report comes from, as JSON and as CSV. */
export const DAILY_PATH = "/api/v1/usage/daily";

/** The identity of a row in its group. */
export function rowKey(row: Omit<GroupOfRow, "tenant_name" | "key_name" | "key_prefix">): string {
  const { day = "", tenant_id, key_id, model, endpoint = "", end_user, tag_value } = row;
  return JSON.stringify([day, tenant_id, key_id, model, endpoint, end_user, tag_value]);
}
