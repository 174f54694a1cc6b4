/** What the answer to a line means for it (docs/rules/batches.md#repeats). */
import { DATA_PLANE_ERRORS } from "../../shared/errors.ts";
import { errorCodeOf, type LineResult, type SentLine } from "./line-sender.ts";
import type { LineEnd } from "./line-store.ts";

/** After failures of an upstream, a line is sent so many times in all. */
const TRIES_MAX = 5;
/** Refusals that pass: nothing was called, and the line is sent again however often they come. */
const PASSING: ReadonlySet<string> = new Set<string>([
  ...Object.entries(DATA_PLANE_ERRORS).flatMap(([code, { status }]) => (status === 429 ? [code] : [])),
  "outside_access_window",
  "scheduler_unavailable",
  "key_store_unavailable",
  "identity_unavailable",
  "budget_check_failed",
  "key_budget_check_failed",
  "content_policy_unavailable",
  "gateway_stopping",
]);
/** A call that was called off, or an upstream that may do better. */
const FAILED_BY_CHANCE: ReadonlySet<number> = new Set([408, 409, 425, 429, 499]);

/** `result` null: the line is over without an answer. */
export function judged({ batchId, n, tries, requestId, cell }: SentLine, result: LineResult | null): LineEnd {
  const line = { batchId, n, tries, requestId, cell };
  if (result === null) return { ...line, state: "waiting", status: null, answer: null };
  const { status } = result;
  const answer = result.text.replaceAll("\0", "\ufffd").toWellFormed();
  if (status >= 200 && status < 300) return { ...line, state: "completed", status, answer };
  const mayPass = status === 499 || PASSING.has(errorCodeOf(answer));
  const mayRepeat = (status >= 500 || FAILED_BY_CHANCE.has(status)) && tries < TRIES_MAX;
  return { ...line, state: mayPass || mayRepeat ? "waiting" : "failed", status, answer };
}
