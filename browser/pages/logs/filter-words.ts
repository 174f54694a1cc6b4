/** Filters of the list in words. Pure. */
import { oneLine } from "../../../shared/text/printable.ts";
import { errorName, ROW_ERROR_CODES } from "../../explain/explain-error.ts";
import { commonText } from "../../messages/common.ts";
import { logViewsTexts } from "../../messages/en/log-views.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import type { Choice } from "../../ui/fields.tsx";
import { formatMs } from "../../ui/format.ts";
import type { FilterName } from "./logs-query.ts";
import { ADMISSION_TEXTS, CACHE_TEXTS, STATUS_TEXTS, TYPE_TEXTS } from "./logs-search.ts";

const text = texts("log-views", logViewsTexts);
const logText = texts("logs", logsTexts);

const NAMES = {
  request_id: "requestId",
  tenant_id: "tenant",
  key_id: "key",
  model: "model",
  status: "status",
  error_code: "errorCode",
  admission: "admission",
  cache_status: "cache",
  request_type: "type",
  cell: "cell",
  min_total_ms: "columnTotal",
  min_queue_wait_ms: "columnQueue",
  session_id: "session",
  traced_only: "traced",
  include_internal: "internal",
} as const satisfies Record<Exclude<FilterName, "end_user" | "tag">, keyof typeof logsTexts>;

const VALUES: Partial<Record<FilterName, Readonly<Record<string, keyof typeof logsTexts>>>> = {
  status: STATUS_TEXTS,
  admission: ADMISSION_TEXTS,
  cache_status: CACHE_TEXTS,
  request_type: TYPE_TEXTS,
};

/** What a filter is called. */
export function filterName(filter: FilterName): string {
  if (filter === "end_user") return text("endUser");
  return filter === "tag" ? text("tag") : logText(NAMES[filter]);
}

/** A value of a filter; `named`: what the tenant or key is called. */
export function filterValue(filter: FilterName, value: string, named: string | undefined): string {
  const words = VALUES[filter];
  if (words !== undefined) {
    const id = Object.hasOwn(words, value) ? words[value] : undefined;
    return id === undefined ? value : logText(id);
  }
  switch (filter) {
    case "tenant_id":
    case "key_id":
      return named === "" ? text("unknownName") : oneLine(named ?? value);
    case "error_code":
      return errorName(value);
    case "min_total_ms":
    case "min_queue_wait_ms":
      return text("atLeast", { duration: formatMs(Number(value)) });
    case "traced_only":
    case "include_internal":
      return text("on");
    default:
      return oneLine(value);
  }
}

/** The choices of a filter that has a few values; undefined: it is typed or found. The one of an address may not be among them. */
export function filterChoices(filter: FilterName, value: string | undefined): readonly Choice[] | undefined {
  const words = VALUES[filter];
  const values =
    words !== undefined ? Object.keys(words) : filter === "error_code" ? ROW_ERROR_CODES.toSorted() : undefined;
  if (values === undefined) return undefined;
  const all = value === undefined || values.includes(value) ? values : [...values, value];
  return [
    { value: "", label: commonText("all") },
    ...all.map((one) => ({ value: one, label: filterValue(filter, one, undefined) })),
  ];
}
