/** Two requests field by field. Pure. */
import { oneLine } from "../../../shared/text/printable.ts";
import { logViewsTexts } from "../../messages/en/log-views.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant } from "../../time/instants.ts";
import { formatCount, formatMs, formatText, formatUsd } from "../../ui/format.ts";
import { keyName, type SeenLog, typeWords } from "./log-columns.tsx";
import { ADMISSION_TEXTS, CACHE_TEXTS } from "./logs-search.ts";
import { outputTokensPerSec, requestReason } from "./request-reason.ts";

const text = texts("log-views", logViewsTexts);
const logText = texts("logs", logsTexts);

/** A field of both requests. */
interface ComparedField {
  readonly name: string;
  readonly first: string;
  readonly second: string;
  readonly isDifferent: boolean;
  /** By how much the second is more or less than the first; empty where that says nothing. */
  readonly change: string;
}

interface Field {
  readonly name: string;
  readonly of: (row: SeenLog, zone: string) => string;
  /** Present: an amount, whose change is shown. */
  readonly amount?: {
    readonly of: (row: SeenLog) => number | null | undefined;
    readonly format: (n: number) => string;
  };
  /** Every two requests differ in it. */
  readonly isOwn?: true;
}

const words = (name: string, of: (row: SeenLog) => string | undefined): Field => ({
  name,
  of: (row) => formatText(oneLine(of(row) ?? "")),
});
const amount = (
  name: string,
  of: (row: SeenLog) => number | null | undefined,
  format: (n: number | null | undefined) => string,
): Field => ({ name, of: (row) => format(of(row)), amount: { of, format } });

const FIELDS: readonly Field[] = [
  { name: logText("columnTime"), isOwn: true, of: ({ ts_ms }, zone) => formatInstant(zone, ts_ms, "ms") },
  { name: logText("factId"), isOwn: true, of: ({ request_id }) => request_id },
  words(logText("tenant"), ({ tenant_name }) => tenant_name),
  words(logText("key"), keyName),
  words(logText("model"), ({ model }) => model),
  words(logText("factServed"), ({ served_model }) => served_model),
  words(logText("columnEndpoint"), ({ endpoint }) => endpoint),
  words(logText("type"), typeWords),
  words(logText("status"), ({ status_code }) => status_code?.toString()),
  words(text("columnReason"), (row) => requestReason(row, row.attempts)),
  words(logText("admission"), ({ admission }) => admission && logText(ADMISSION_TEXTS[admission])),
  words(logText("cache"), ({ cache_status: status }) => status && logText(CACHE_TEXTS[status])),
  amount(text("columnWait"), ({ queue_wait_ms }) => queue_wait_ms, formatMs),
  amount(logText("columnGateway"), ({ gateway_ms }) => gateway_ms, formatMs),
  amount(logText("columnFirst"), ({ ttft_ms }) => ttft_ms, formatMs),
  amount(logText("columnTotal"), ({ total_ms }) => total_ms, formatMs),
  amount(text("columnSpeed"), outputTokensPerSec, formatCount),
  amount(logText("columnInput"), ({ input_tokens }) => input_tokens, formatCount),
  amount(logText("factCached"), ({ cached_tokens }) => cached_tokens, formatCount),
  amount(logText("columnOutput"), ({ output_tokens }) => output_tokens, formatCount),
  amount(logText("factReasoning"), ({ reasoning_tokens }) => reasoning_tokens, formatCount),
  amount(logText("columnCost"), ({ cost_usd }) => cost_usd, formatUsd),
  amount(logText("columnAttempts"), ({ attempts }) => attempts, formatCount),
  words(logText("cell"), ({ cell }) => cell),
  words(logText("session"), ({ session_id }) => session_id),
  words(logText("factEndUser"), ({ end_user }) => end_user),
  words(logText("factTags"), ({ tags }) => tags),
];

/** The fields of two requests; those that neither of them has are left out. */
export function comparedFields(first: SeenLog, second: SeenLog, zone: string): readonly ComparedField[] {
  const none = formatText("");
  return FIELDS.map((field): ComparedField => {
    const [one, other] = [field.of(first, zone), field.of(second, zone)];
    return {
      name: field.name,
      first: one,
      second: other,
      isDifferent: one !== other && field.isOwn !== true,
      change: changeOf(field, first, second),
    };
  }).filter((field) => field.first !== none || field.second !== none);
}

function changeOf({ amount: one }: Field, first: SeenLog, second: SeenLog): string {
  const [before, after] = [one?.of(first), one?.of(second)];
  if (one === undefined || typeof before !== "number" || typeof after !== "number" || before === after) return "";
  return `${after > before ? "+" : "−"}${one.format(Math.abs(after - before))}`;
}
