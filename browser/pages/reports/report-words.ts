/** Rows of a report in words. */
import type { Records } from "../../data/api.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { formatDay } from "../../time/instants.ts";
import type { ReportGroup } from "./reports-search.ts";

const text = texts("reports", reportsTexts);

export type ReportRow = Records["DailyUsage"];

/** The path that every figure of a report comes from, as JSON and as CSV. */
export const DAILY_PATH = "/api/v1/usage/daily";

/** What a row is about. */
export function rowName(
  { day, tenant_id, tenant_name, key_id, key_name, key_prefix, model }: ReportRow,
  by: ReportGroup,
): string {
  switch (by) {
    case "day":
      return formatDay(day);
    case "tenant":
      return tenant_name === "" ? text("deleted", { id: tenant_id.slice(0, 8) }) : tenant_name;
    case "key":
      if (key_prefix === "") return text("deleted", { id: key_id.slice(0, 8) });
      return key_name === "" ? `${key_prefix}…` : key_name;
    case "model":
      return model === "" ? text("noModel") : model;
    default:
      return by satisfies never;
  }
}

/** The identity of a row in its group. */
export function rowKey({ day, tenant_id, key_id, model }: ReportRow): string {
  return JSON.stringify([day, tenant_id, key_id, model]);
}
