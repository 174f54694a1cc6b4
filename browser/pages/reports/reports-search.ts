/** Search parameters of the reports. */
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

const NAME_MAX = 300;

/** What rows are about. */
export const REPORT_GROUPS = ["tenant", "model", "key", "endpoint", "end_user", "tag", "day"] as const;
export type ReportGroup = (typeof REPORT_GROUPS)[number];

export const reportsSearch = searchParams({
  ...LIST_PARAMS,
  /** `7d`, `30d`, `90d`, `month`, `last-month`, or days: `2026-11-01..2026-11-08`. */
  period: textParam(30),
  zone: choiceParam(["tenant", "browser", "utc"]),
  by: choiceParam(REPORT_GROUPS),
  /** The tag whose values are the rows of `by=tag`. */
  tag_name: textParam(64),
  tenant_id: textParam(40),
  key_id: textParam(40),
  model: textParam(NAME_MAX),
  /** What the chart shows. */
  show: choiceParam(["cost", "tokens", "requests", "energy", "carbon"]),
});

/** What the address of the page says. */
export type ReportsSearch = ReturnType<typeof reportsSearch>;
/** Changes of an address; undefined takes a parameter away. */
export type ReportsChange = { readonly [N in keyof ReportsSearch]?: ReportsSearch[N] | undefined };
