/**
 * The usage that a client gets for a request of several turns: the sum of the reports of its turns
 * (docs/rules/tool-loop.md#usage).
 */
import { AMOUNT_MAX } from "../../../shared/money/amount.ts";
import type { TokenEstimate } from "../request/token-estimate.ts";
import { unbelievedCount } from "../usage/billing.ts";
import { UsageScan } from "../usage/usage-scan.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";

/** Usage has counts, and objects of counts. */
const DEPTH_MAX = 3;
/** Most members of one object: an upstream may report any number. */
const MEMBERS_MAX = 64;

/**
 * The report of a turn whose answer had so many bytes; null: it has no plausible one
 * (docs/rules/settlement-and-rows.md#reports-that-are-not-believed).
 */
export function believedReport(
  report: unknown,
  estimate: Pick<TokenEstimate, "totalTokens">,
  bytes: number,
): JsonObject | null {
  if (!isJsonObject(report)) return null;
  const scan = new UsageScan({ content: false });
  scan.push(new TextEncoder().encode(JSON.stringify({ usage: report })));
  const answered = { usage: { ...scan.usage(), bytes }, complete: true, stream: false };
  return unbelievedCount(estimate, { kind: "tokens" }, answered) === null ? report : null;
}

/** Both reports as one; null: nothing was reported. */
export function sumUsage(first: unknown, second: unknown): JsonObject | null {
  if (!isJsonObject(first)) return isJsonObject(second) ? second : null;
  return isJsonObject(second) ? sumOf(first, second, DEPTH_MAX) : first;
}

/** Counts are added; of values that cannot be added, the later one stays. */
function sumOf(first: JsonObject, second: JsonObject, depth: number): JsonObject {
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])].slice(0, MEMBERS_MAX);
  // from entries, because an assignment to `__proto__` would not make a member
  return Object.fromEntries(names.map((name) => [name, added(own(first, name), own(second, name), depth)]));
}

function added(first: unknown, second: unknown, depth: number): unknown {
  if (second === undefined || second === null) return first;
  if (typeof first === "number" && typeof second === "number")
    return Math.min(countOf(first) + countOf(second), AMOUNT_MAX);
  return depth > 1 && isJsonObject(first) && isJsonObject(second) ? sumOf(first, second, depth - 1) : second;
}

function countOf(value: number): number {
  return Math.max(value, 0);
}

function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
