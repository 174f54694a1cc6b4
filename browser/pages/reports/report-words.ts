/** Where the rows of a report come from, and which is which. */
import type { Records } from "../../data/api.ts";

export type ReportRow = Records["DailyUsage"];

/** The path that every figure of a report comes from, as JSON and as CSV. */
export const DAILY_PATH = "/api/v1/usage/daily";

/** The identity of a row in its group. */
export function rowKey({ day, tenant_id, key_id, model }: ReportRow): string {
  return JSON.stringify([day, tenant_id, key_id, model]);
}
